-- Jobs that are not ready yet, as a forecast sees them: those that the clock makes ready within $1 seconds, and those that need others;
-- at most $2. due: in so many seconds; needs: the jobs that it needs and that have not ended. Guard: readers only (every_job). Index:
-- jobqueue_parked; dependency's primary key.
select j.id as job, j.type, j.priority::integer, coalesce(j.share, '') as share, coalesce(j.locks, '{}') as locks,
       coalesce(extract(epoch from j.run_at - statement_timestamp()), 0)::float8 as due, extract(epoch from statement_timestamp() - j.created_at)::float8 as age,
       (select array_agg(d.needs) from bellhop.dependency d where d.job = j.id and not d.met) as needs
  from bellhop.every_job j
 where j.state in ('blocked', 'scheduled') and not j.held and (j.run_at is null or j.run_at <= statement_timestamp() + $1::float8 * interval '1 second')
   and j.type not in ('command', 'dummy')
 order by j.id limit $2
