-- lock_scene: what a forecast is made of: the holders of locks, and the first jobs that wait behind each lock, some
-- `most` together, so that a look at many locks costs what a look at few does. It also has the job in question (mine),
-- with place 0 if so many are before it. For readers. Indexes: those of bellhop.lock_queue; the primary key, one probe
-- for each job.
-- Grant: reader scheduler
create or replace function bellhop.lock_scene(most integer, mine bigint default 0)
returns table (job bigint, type text, priority integer, locks text[], behind text, place bigint, holds boolean, age float8, runs float8)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set jit = off
set enable_hashjoin = off -- each row is probed for, whatever the statistics say: else all of the queue is read
set enable_mergejoin = off
as $$
  with share as materialized (
    select greatest(lock_scene.most / (count(*) + 1), 1)::integer as n from bellhop.waited_for(1000)
  ), seen as materialized (
    select q.* from share cross join lateral bellhop.lock_queue(share.n) q
  ), jobs as (
    select s.job, array_agg(case s.level when 'big' then 'big' else s.level || ':' || s.name || '=' || s.mode end)
                    filter (where s.mode in ('shared', 'exclusive')) as locks, '' as behind, 0 as place, true as holds
      from seen s where s.what = 'holds' group by s.job
    union all
    select s.job, null, case s.what when 'next' then '' else s.level || ':' || s.name end, s.place, false
      from seen s where s.what <> 'holds'
    union all
    select j.id, null, coalesce(j.behind, ''), 0, false from bellhop.jobqueue j
     where j.id = lock_scene.mine and bellhop.is_reader() and j.state || '' = 'ready' and not j.held and j.locks is not null
       and not exists (select from seen s where s.job = j.id)
  )
  select k.job, j.type, j.priority::integer, case when k.holds then coalesce(k.locks, '{}') else coalesce(bellhop.wanted_locks(j.locks, j.waiting_for, j.behind), '{}') end, k.behind, k.place, k.holds,
         extract(epoch from statement_timestamp() - j.created_at)::float8,
         extract(epoch from statement_timestamp() - coalesce(j.attempt_at, j.started_at, statement_timestamp()))::float8
    from jobs k join bellhop.jobqueue j on j.id = k.job
$$;
