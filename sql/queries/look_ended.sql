-- Jobs that have run and ended, as a workload: the newest $2 of those that were submitted in the last $1 seconds, of the newest rows;
-- in the order of their ids. due: it was submitted, and its time had come (a later run_at is that of a retry). tries: when each earlier
-- attempt began and ended. $3 types whose agents' locks go by arguments; $4 what jobs are grouped by: empty (type), share, or
-- vars.NAME. elsewhere: it took no slot of a host. For operators; for readers every_job takes jobqueue's place, and args and vars are
-- NULL (Look.Ended). Guard: none, it only reads. Index: the primary key, backwards; dependency's, one probe a job.
select x.id, x.type, x.priority::integer, coalesce(x.locks, '{}') as locks, x.key, x.args, x.vars, coalesce(x.grouped, '') as grouped, coalesce(x.share, '') as share,
       x.created_at as created, x.due, x.began, x.ended_at as ended, x.needs,
       case when x.attempt > 1 then (select array_agg(t order by t) from bellhop.attempt a cross join unnest(array[a.started_at, a.ended_at]) t
                                      where a.job = x.id and a.attempt < x.attempt and a.started_at <= a.ended_at) end as tries,
       coalesce(x.host, '') as host, x.query, coalesce(x.elsewhere, false) as elsewhere
  from (select j.id, j.type, j.priority, j.share, j.locks, j.attempt, j.created_at, j.ended_at, coalesce(j.attempt_at, j.started_at) as began,
               case when j.type = any ($3::text[]) then j.key end as key, case when j.type = any ($3::text[]) then j.args end as args,
               case when j.type = any ($3::text[]) then j.vars end as vars,
               case $4::text when '' then j.type when 'share' then j.share else j.vars ->> substr($4, 6) end as grouped,
               greatest(j.created_at, case when j.run_at <= j.started_at then j.run_at end) as due,
               (select array_agg(d.needs) from bellhop.dependency d where d.job = j.id) as needs,
               j.host, j.msq is not null as query,
               j.host like 'worker %' or j.type in (select a.type from bellhop.agent a where a.mode = 'engine') as elsewhere
          from (select * from bellhop.jobqueue order by id desc limit greatest(1000000, 2 * $2)) j
         where j.ended_at is not null and j.started_at is not null and j.created_at >= clock_timestamp() - $1::float8 * interval '1 second'
           and j.type not in ('command', 'dummy')
         order by j.id desc limit $2) x
 order by x.id
