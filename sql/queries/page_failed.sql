-- Failed jobs, grouped by error and host: of those without a run_at the newest by id, of the others by run_at; $1 of
-- each at most. A job that never ran, since it needed one of these, is counted behind that one. $2: since so many seconds
-- (NULL: whenever), $3: and until so many seconds ago (NULL: now). Guard: none, it only reads. Index: jobqueue_parked
-- backwards.
with failed as (
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, case when j.attempt = 0 then j.ended_by end as ended_by, left(coalesce(j.error, ''), 400) as error
     from bellhop.every_job j where j.state = 'failed' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      and not j.held and j.run_at is null order by j.run_at desc, j.id desc limit $1::bigint)
  union all
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, case when j.attempt = 0 then j.ended_by end as ended_by, left(coalesce(j.error, ''), 400)
     from bellhop.every_job j where j.state = 'failed' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      and not j.held and j.run_at is not null order by j.run_at desc, j.id desc limit $1::bigint)
  union all
  (select j.id, j.type, j.host, j.ended_at, j.run, j.step, case when j.attempt = 0 then j.ended_by end as ended_by, left(coalesce(j.error, ''), 400)
     from bellhop.every_job j where j.state = 'quarantined' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      order by j.held desc, j.run_at desc, j.id desc limit $1::bigint)
)
select f.type, f.error, bellhop.masked(f.error) as masked, f.host, min(f.ended_at) as first_at, max(f.ended_at) as last_at,
       array_agg(f.id order by f.id desc) as jobs, sum(coalesce(b.n, 0))::bigint as behind
  from failed f
  left join (select x.ended_by, count(*) as n from failed x where x.ended_by is not null group by 1) b on b.ended_by = f.id
 where ($2::float8 is null or f.ended_at > clock_timestamp() - make_interval(secs => $2::float8))
   and ($3::float8 is null or f.ended_at <= clock_timestamp() - make_interval(secs => $3::float8))
   and (f.run is null or f.step is not null)
   and not exists (select from failed r where r.id = f.ended_by)
 group by f.type, f.error, f.host
