-- The queue's part of /metrics: how many jobs of each type are in each state that is not final, and how old the oldest
-- ready one is, in seconds (of those that may run anywhere; else NULL). At most 100,000 of one state and type are
-- counted. Finished rows, failed ones among them, are not read. The first row is the use of the notification queue, 0
-- to 1.
-- Indexes: jobqueue_ready and jobqueue_pinned, jobqueue_shared, by one probe a type and at most 40 for the oldest; jobqueue_taken; jobqueue_parked; jobqueue_locked.
with recursive t as (
  (select type from bellhop.jobqueue where state = 'ready' and not held and run_on is null and locks is null and share is null order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and j.type > t.type order by j.type limit 1)
    from t where t.type is not null
), p as (
  (select type from bellhop.jobqueue where state = 'ready' and not held and run_on is not null and locks is null and share is null order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null and j.type > p.type order by j.type limit 1)
    from p where p.type is not null
), s as (
  (select type from bellhop.jobqueue where share is not null and state = 'ready' and not held and locks is null order by type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and j.type > s.type order by j.type limit 1)
    from s where s.type is not null
), ready as (
  select t.type, c.n, o.oldest
    from t
   cross join lateral (select count(*) as n from (
      select 1 from bellhop.jobqueue j where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null limit 100000) x) c
   cross join lateral (select extract(epoch from clock_timestamp() - min(f.since))::float8 as oldest
      from generate_series(-20, 19) as g (priority)
     cross join lateral (
        select greatest(j.created_at, j.run_at) as since from bellhop.jobqueue j
         where j.type = t.type and j.priority = g.priority::smallint and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null
         order by j.priority, j.id limit 1) f) o
   where t.type is not null
  union all
  select p.type, c.n, null
    from p cross join lateral (select count(*) as n from (
      select 1 from bellhop.jobqueue j where j.type = p.type and j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null limit 100000) x) c
   where p.type is not null
  union all
  select s.type, c.n, null
    from s cross join lateral (select count(*) as n from (
      select 1 from bellhop.jobqueue j where j.type = s.type and j.share is not null and j.state = 'ready' and not j.held and j.locks is null limit 100000) x) c
   where s.type is not null
  union all
  select l.type, count(*), null from (
      select j.type from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
       order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 100000) l group by l.type
)
select '' as state, '' as type, 0::bigint as n, pg_notification_queue_usage() as oldest
union all
select 'ready', r.type, sum(r.n)::bigint, max(r.oldest) from ready r group by r.type
union all
select j.state, j.type, count(*), null from bellhop.jobqueue j where j.state in ('assigned', 'running') group by j.state, j.type
union all
select s.state, x.type, count(*), null
  from unnest('{held,blocked,scheduled}'::text[]) as s (state)
 cross join lateral (select j.type from bellhop.jobqueue j
    where j.state = s.state and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') limit 100000) x
 group by s.state, x.type
