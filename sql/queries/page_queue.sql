-- The waiting, running and failed jobs, for the overview: by type how many are ready (at most 10,000 are counted), and
-- the id of the next one, since when it waits and what for. Finished jobs are not read.
-- Indexes: jobqueue_ready; jobqueue_pinned, jobqueue_shared; jobqueue_locked; jobqueue_taken; jobqueue_parked.
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
  select t.type, c.n, f.id, f.since, f.why
    from t
   cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null limit 10000) x) c
   cross join lateral (select j.id, greatest(j.created_at, j.run_at) as since, j.waiting_for as why from bellhop.every_job j
      where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null order by j.priority, j.id limit 1) f
   where t.type is not null
  union all
  select p.type, c.n, f.id, f.since, f.why
    from p
   cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = p.type and j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null limit 10000) x) c
   cross join lateral (select j.id, greatest(j.created_at, j.run_at) as since, j.waiting_for as why from bellhop.every_job j
      where j.type = p.type and j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null order by j.run_on, j.priority, j.id limit 1) f
   where p.type is not null
  union all
  select s.type, c.n, f.id, f.since, f.why
    from s
   cross join lateral (select count(*) as n from (
      select 1 from bellhop.every_job j where j.type = s.type and j.share is not null and j.state = 'ready' and not j.held and j.locks is null limit 10000) x) c
   cross join lateral (select j.id, greatest(j.created_at, j.run_at) as since, j.waiting_for as why from bellhop.every_job j
      where j.type = s.type and j.share is not null and j.state = 'ready' and not j.held and j.locks is null order by coalesce(j.run_on, ''), j.priority, j.share, j.id limit 1) f
   where s.type is not null
  union all
  select l.type, count(*), min(l.id), min(l.since), min(l.waiting_for) from (
      select j.type, j.id, greatest(j.created_at, j.run_at) as since, j.waiting_for from bellhop.every_job j
       where j.state = 'ready' and not j.held and j.locks is not null limit 10000) l group by l.type
)
select 'ready' as state, r.type, sum(r.n)::bigint as n, min(r.id) as first, coalesce(min(r.why), '') as why,
       greatest(extract(epoch from clock_timestamp() - min(r.since)), 0)::float8 as age
  from ready r group by r.type
union all
select j.state, j.type, count(*), min(j.id), '', 0::float8 from bellhop.every_job j where j.state in ('assigned', 'running') group by j.state, j.type
union all
select s.state, '', (select count(*) from (select 1 from bellhop.every_job j where j.state = s.state and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') limit 10000) x), null, '', 0
  from unnest('{held,blocked,scheduled,failed,quarantined}'::text[]) s (state)
