-- The queue at a glance: how many jobs of each type are ready (10000 at the most are counted) and why the first of them waits, how
-- many are assigned and running, and how many wait otherwise or failed. For a view that looks every second: finished jobs are not read,
-- and of jobs with a place or a share, a reason is looked for among those that are counted.
-- Indexes: jobqueue_ready; jobqueue_pinned, jobqueue_shared; jobqueue_taken; jobqueue_waiting; jobqueue_locked.
with recursive t as (
  (select type from bellhop.every_job where state = 'ready' and not held and run_on is null and locks is null and share is null order by type limit 1)
  union all
  select (select j.type from bellhop.every_job j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and j.type > t.type order by j.type limit 1)
    from t where t.type is not null
), p as (
  (select type from bellhop.every_job where state = 'ready' and not held and run_on is not null and locks is null and share is null order by type limit 1)
  union all
  select (select j.type from bellhop.every_job j where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null and j.type > p.type order by j.type limit 1)
    from p where p.type is not null
), s as (
  (select type from bellhop.every_job where share is not null and state = 'ready' and not held and locks is null order by type limit 1)
  union all
  select (select j.type from bellhop.every_job j where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and j.type > s.type order by j.type limit 1)
    from s where s.type is not null
), ready as (
  select t.type, c.n, (select j.waiting_for from bellhop.every_job j where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null order by j.priority, j.id limit 1) as why
    from t cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null limit 10000) x) c
   where t.type is not null
  union all
  select p.type, c.n, (select min(w.waiting_for) from (select j.waiting_for from bellhop.every_job j where j.type = p.type and j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null limit 10000) w)
    from p cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = p.type and j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null limit 10000) x) c
   where p.type is not null
  union all
  select s.type, c.n, (select min(w.waiting_for) from (select j.waiting_for from bellhop.every_job j where j.type = s.type and j.share is not null and j.state = 'ready' and not j.held and j.locks is null limit 10000) w)
    from s cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = s.type and j.share is not null and j.state = 'ready' and not j.held and j.locks is null limit 10000) x) c
   where s.type is not null
  union all
  select l.type, count(*), min(l.waiting_for) from (
      select j.type, j.waiting_for from bellhop.every_job j where j.state = 'ready' and not j.held and j.locks is not null limit 10000) l group by l.type
)
select 'ready' as state, r.type, sum(r.n)::bigint as n, coalesce(min(r.why), '') as why from ready r group by r.type
union all
select j.state, j.type, count(*), '' from bellhop.every_job j where j.state in ('assigned', 'running') group by j.state, j.type
union all
select s.state, '', (select count(*) from (select 1 from bellhop.every_job j where j.state = s.state and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') limit 10000) x), ''
  from unnest('{held,blocked,scheduled,failed,quarantined}'::text[]) s (state)
