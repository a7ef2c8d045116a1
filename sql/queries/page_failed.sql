-- Failed jobs, grouped by error and host: of those without a run_at the newest by id, of the others by run_at; $1 of
-- each at most. $2: since so many seconds (NULL: whenever), $3: and until so many seconds ago (NULL: now). Guard: none,
-- it only reads. Index: jobqueue_parked backwards.
with failed as (
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, left(coalesce(j.error, ''), 400) as error
     from bellhop.every_job j where j.state = 'failed' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      and not j.held and j.run_at is null order by j.run_at desc, j.id desc limit $1::bigint)
  union all
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, left(coalesce(j.error, ''), 400)
     from bellhop.every_job j where j.state = 'failed' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      and not j.held and j.run_at is not null order by j.run_at desc, j.id desc limit $1::bigint)
  union all
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, left(coalesce(j.error, ''), 400)
     from bellhop.every_job j where j.state = 'quarantined' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      order by j.held desc, j.run_at desc, j.id desc limit $1::bigint)
)
select type, error, bellhop.masked(error) as masked, host, min(ended_at) as first_at, max(ended_at) as last_at, array_agg(id order by id desc) as jobs
  from failed
 where ($2::float8 is null or ended_at > clock_timestamp() - make_interval(secs => $2::float8))
   and ($3::float8 is null or ended_at <= clock_timestamp() - make_interval(secs => $3::float8))
   and (run is null or step is not null)
 group by type, error, host
