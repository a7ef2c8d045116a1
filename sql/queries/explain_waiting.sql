-- Writes why the first jobs of a type do not start: the first $4 of a type ($1), of a name in run_on ($2, NULL: jobs
-- without one), and of a priority and its name ($5, NULL: any; $6). $3 why (NULL: nothing holds them any more). These
-- would start next. Only rows that change are locked; and on the claimer's connection no claim can come in between, so
-- that none has to skip a row. A row that another transaction has locked is not waited for. Indexes: jobqueue_ready;
-- jobqueue_pinned, jobqueue_shared.
update bellhop.jobqueue j
   set waiting_for = $3
 where j.id = any (array(
         select k.id from bellhop.jobqueue k
          where k.id = any (array(
                  select d.id
                    from (select id, waiting_for from bellhop.jobqueue
                           where type = $1 and state = 'ready' and not held and run_on is null and locks is null and share is null and $2::text is null
                             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
                             and ($5::smallint is null or priority_name is not distinct from $6::text)
                           order by priority, id limit $4) d
                   where d.waiting_for is distinct from $3
                  union all
                  select d.id
                    from (select id, waiting_for from bellhop.jobqueue
                           where type = $1 and state = 'ready' and not held and run_on = $2::text and locks is null and share is null
                             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
                             and ($5::smallint is null or priority_name is not distinct from $6::text)
                           order by priority, id limit $4) d
                   where d.waiting_for is distinct from $3
                  union all
                  select d.id
                    from (select id, waiting_for from bellhop.jobqueue
                           where type = $1 and share is not null and state = 'ready' and not held and locks is null and coalesce(run_on, '') = coalesce($2::text, '')
                             and priority between coalesce($5::smallint, -20) and coalesce($5::smallint, 19)
                             and ($5::smallint is null or priority_name is not distinct from $6::text)
                           order by priority, share, id limit $4) d
                   where d.waiting_for is distinct from $3))
            and k.state = 'ready' and k.waiting_for is distinct from $3
            for no key update skip locked))
