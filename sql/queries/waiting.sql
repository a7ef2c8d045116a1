-- The types that have ready jobs, and for jobs that name a place the names too ($1: at most so many of these), with
-- what keeps them from starting, and whether some of them started just now. If hosts take jobs by priority, the first
-- $2 of each are separated by that; else priority is NULL. The first row is where this look begins: every transaction
-- below it is over, and its rows are seen; without ready jobs it stands alone. One index probe each. Indexes:
-- jobqueue_ready; jobqueue_pinned, jobqueue_shared.
-- All types that an instance serves are looked at. Of all types, $4 behind $3 are looked at, and the next look goes on
-- behind the last one (followed; NULL: from the beginning): types that no instance serves must not hold up those that
-- one does.
with recursive walk as (
  (select type, 1 as n from bellhop.jobqueue where state = 'ready' and not held and run_on is null and locks is null and share is null and type > $3::text order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and j.type > w.type order by j.type limit 1), w.n + 1
    from walk w where w.type is not null and w.n < $4::int
), s as (
  (select type, 1 as n from bellhop.jobqueue where share is not null and state = 'ready' and not held and locks is null order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and j.type > s.type order by j.type limit 1), s.n + 1
    from s where s.type is not null and s.n < $4::int
), t as materialized (
  select w.type from walk w where w.type is not null
  union
  select s.type from s where s.type is not null
  union
  select a.type
    from (select distinct x.type from bellhop.agent x join bellhop.instance i on i.id = x.instance where i.state = 'live') a
   cross join lateral (
     select 1 from bellhop.jobqueue j
      where j.type = a.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null
      order by j.priority, j.id limit 1) probe
), p as (
  (select type, run_on, 1 as n from bellhop.jobqueue where state = 'ready' and not held and run_on is not null and locks is null and share is null order by type, run_on limit 1)
  union all
  select f.type, f.run_on, p.n + 1
    from p
   cross join lateral (
     select j.type, j.run_on from bellhop.jobqueue j
      where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null and (j.type, j.run_on) > (p.type, p.run_on)
      order by j.type, j.run_on limit 1) f
   where p.n < $1
), strict as materialized (
  select exists (select 1 from bellhop.instance i join bellhop.host h on h.instance = i.id
                  where i.state = 'live' and (h.only_priorities is not null or h.only_names is not null)) as is
), w as (
  select t.type, null::text as run_on, null::smallint as priority, null::text as priority_name from t, strict where t.type is not null and not strict.is
  union all
  select p.type, p.run_on, null, null from p, strict where not strict.is
  union all
  select distinct t.type, null, f.priority, f.priority_name
    from strict, t
   cross join lateral (select j.priority, j.priority_name from bellhop.jobqueue j
                        where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null order by j.priority, j.id limit $2) f
   where strict.is
  union all
  select distinct p.type, p.run_on, f.priority, f.priority_name
    from strict, p
   cross join lateral (select j.priority, j.priority_name from bellhop.jobqueue j
                        where j.type = p.type and j.state = 'ready' and not j.held and j.run_on = p.run_on and j.locks is null and j.share is null order by j.priority, j.id limit $2) f
   where strict.is
)
select pg_snapshot_xmin(pg_current_snapshot())::text as began, coalesce(g.type, ''), g.run_on, g.priority, g.priority_name, g.why, coalesce(g.flows, false),
       (select case when count(*) >= $4::int then max(k.type) end from walk k where k.type is not null) as followed
  from (select) look
  left join lateral (
    select w.type, w.run_on, w.priority, w.priority_name, split_part(h.cause, '/', 1) || coalesce(': ' || h.detail, '') as why,
           exists (select 1 from bellhop.jobqueue j
                    where j.type = w.type and j.state in ('assigned', 'running') and coalesce(j.attempt_at, j.started_at) > clock_timestamp() - interval '2 s')
             as flows
      from w
     cross join lateral bellhop.hindrance(w.type, w.run_on, w.priority, w.priority_name) h
     where w.type not in ('command', 'dummy')) g on true
