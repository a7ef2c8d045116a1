-- types_that_start: the types that a live instance serves and nothing pauses: a forecast gives slots to no others. RJM's
-- jobs of other types start where rjm is among them. Indexes: instance_live; agent's primary key.
-- Grant: reader scheduler
create or replace function bellhop.types_that_start() returns table (type text)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select distinct a.type
    from bellhop.instance i join bellhop.agent a on a.instance = i.id
   where i.state = 'live' and not i.paused && array[a.type, ''] and not exists (select from bellhop.paused p where p.type in (a.type, ''))
$$;

-- lock_beside: what a forecast knows about jobs without locks: the running ones, each with its slots (an MSQ job has
-- one for each item that an agent has), and the first `most` that wait for a slot, of types that a live instance serves.
-- For readers. Indexes: jobqueue_taken; jobqueue_ready, a probe for each type; rjm's primary key.
-- Grant: reader scheduler
create or replace function bellhop.lock_beside(most integer)
returns table (job bigint, type text, priority integer, slots integer, age float8, runs float8)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with recursive t as (
    (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and bellhop.is_reader()
      order by j.type limit 1)
    union all
    select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and j.type > t.type
             order by j.type limit 1)
      from t where t.type is not null
  )
  select j.id, j.type, j.priority::integer,
         case when j.msq is null then 1 else (select count(*)::integer from bellhop.child c where c.job = j.id and c.state = 'RUNNING') end,
         extract(epoch from statement_timestamp() - j.created_at)::float8,
         extract(epoch from statement_timestamp() - coalesce(j.attempt_at, j.started_at, statement_timestamp()))::float8
    from bellhop.jobqueue j
   where j.state in ('assigned', 'running') and (j.locks is null or j.msq is not null) and bellhop.is_reader()
  union all
  (select f.id, f.type, f.priority::integer, 0, extract(epoch from statement_timestamp() - f.created_at)::float8, 0
     from t
    cross join lateral (
      select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
       where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null
       order by j.priority, j.id limit lock_beside.most) f
    where t.type is not null
      and (t.type = any (array(select s.type from bellhop.types_that_start() s))
           or 'rjm' = any (array(select s.type from bellhop.types_that_start() s)) and exists (select from bellhop.rjm m where m.job = f.id)
              and not exists (select from bellhop.paused p where p.type = t.type))
    order by f.priority, f.id limit lock_beside.most)
$$;
