-- Jobs that have run and ended, as a workload: the newest $2 of those that were submitted in the last $1 seconds, of the newest million
-- rows; in the order of their ids. When each could begin: it was submitted, its time had come, and what it needs had ended. For operators;
-- for readers every_job takes jobqueue's place, and args and vars are NULL (ReaderEnded). Guard: none, it only reads. Index: the primary
-- key, backwards; dependency's, one probe a job.
select x.type, x.priority::integer, coalesce(x.locks, '{}') as locks, x.key, x.args, x.vars,
       extract(epoch from x.due - min(x.due) over ())::float8 as at, extract(epoch from x.started_at - x.due)::float8 as waited,
       extract(epoch from x.ended_at - coalesce(x.attempt_at, x.started_at))::float8 as takes
  from (select j.id, j.type, j.priority, j.locks, j.key, j.args, j.vars, j.ended_at, j.attempt_at, j.started_at,
               least(j.started_at, greatest(j.created_at, j.run_at, d.ended_at)) as due
          from (select * from bellhop.jobqueue order by id desc limit 1000000) j
         cross join lateral (select max(n.ended_at) as ended_at
                               from bellhop.dependency d join bellhop.every_job n on n.id = d.needs where d.job = j.id) d
         where j.ended_at is not null and j.started_at is not null and j.created_at >= clock_timestamp() - $1::float8 * interval '1 second'
           and j.type not in ('command', 'dummy')
         order by j.id desc limit $2) x
 order by x.id
