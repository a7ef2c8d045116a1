-- The state and progress of jobs. $1 ids. Index: the primary key.
select j.id, j.key, j.state, j.attempt, j.exit_code, j.error, j.items_failed, j.waiting_for, j.progress, j.progress_text, j.result::text as result,
       exists (select from bellhop.causes() c where c.cause = substring(j.waiting_for from '^[a-z_]+') and c.stuck) as stuck
  from bellhop.job j
 where j.id = any ($1::bigint[])
