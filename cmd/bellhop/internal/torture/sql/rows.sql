-- Every job as the queue has it, with its attempts that succeeded. Guard: none; it reads.
select j.id, j.type, j.state, j.fence, j.attempt, coalesce(j.args, ''), coalesce(j.msq, ''), coalesce(j.key, ''),
       coalesce(j.items_total, -1), coalesce(j.items_done, -1), coalesce(j.items_failed, -1), coalesce(j.error, ''), coalesce(j.waiting_for, ''),
       (select count(*) from bellhop.attempt a where a.job = j.id and a.exit_code = 0)
  from bellhop.jobqueue j order by j.id
