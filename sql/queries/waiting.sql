-- The types that have ready jobs, and for those that name a place the names too ($1: at the most so many of these), with what
-- keeps them from starting, and whether some of them started just now. One index probe each. Indexes: jobqueue_ready; jobqueue_pinned.
with recursive t as (
  (select type from bellhop.jobqueue where state = 'ready' and not held and run_on is null order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.type > t.type order by j.type limit 1)
    from t where t.type is not null
), p as (
  (select type, run_on, 1 as n from bellhop.jobqueue where state = 'ready' and not held and run_on is not null order by type, run_on limit 1)
  union all
  select f.type, f.run_on, p.n + 1
    from p
   cross join lateral (
     select j.type, j.run_on from bellhop.jobqueue j
      where j.state = 'ready' and not j.held and j.run_on is not null and (j.type, j.run_on) > (p.type, p.run_on)
      order by j.type, j.run_on limit 1) f
   where p.n < $1
), w as (
  select type, null as run_on from t where type is not null
  union all
  select type, run_on from p
)
select w.type, w.run_on, bellhop.why_waiting(w.type, w.run_on),
       exists (select 1 from bellhop.jobqueue j
                where j.type = w.type and j.state in ('assigned', 'running') and coalesce(j.attempt_at, j.started_at) > clock_timestamp() - interval '2 s')
  from w
 where w.type not in ('command', 'dummy')
