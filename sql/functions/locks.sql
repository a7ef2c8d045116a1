-- Locks: their holders, and whose turn it is. bellhop's policy (scheduler/lock) decides which jobs may run together, in
-- one transaction that all instances take in turn; these functions keep its books. docs/locks.md describes all of it.

-- lock: the locks that jobs hold now, one row for each. name: * is every name of the level, ? an unknown one; mode
-- slot: a place within a limit. A job on an engine keeps its locks while its watcher changes and no instance has the
-- job, and so does a job that rests and said that it keeps them.
create or replace view bellhop.lock as
  select g.level, g.name, g.mode, g.job, g.fence, j.instance, g.since
    from bellhop.lock_grant g
   cross join lateral ( -- the limit makes it one probe for each, whatever the statistics say
     select j.instance from bellhop.jobqueue j
      where j.id = g.job and j.fence = g.fence
        and (j.state in ('assigned', 'running') or g.rests and j.state in ('blocked', 'scheduled', 'ready', 'held') or j.state in ('ready', 'held') and exists (
               select from bellhop.engine_job e where e.job = j.id and e.state in ('submitting', 'running') and e.attempt = j.attempt + 1)) limit 1) j
   where g.mode not in ('turn', 'kept');

-- lockable_row: bellhop.lockable for callers that have the ids. `|| ''` prevents use of jobqueue_locked: with
-- statistics from a time when nothing waited, all of it would be read.
create or replace view bellhop.lockable_row as
  select j.id, j.type, j.priority, j.created_at, j.locks, j.reasons, j.args, j.key, j.vars, j.run_on, j.submitted_by,
         j.priority_name, j.msq, j.share
    from bellhop.jobqueue j
   where j.state || '' = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));

-- locks_clash: whether a wanted lock conflicts with a held one. scheduler/lock says the same (Conflicts), and a test
-- compares the two. An unknown name (?) never forbids.
-- Grant: scheduler
create or replace function bellhop.locks_clash(want text, level text, name text, mode text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when mode not in ('exclusive', 'shared') then false
    when want = 'big' or level = 'big' then true
    else split_part(want, ':', 1) = level
     and (want like '%=exclusive' or mode = 'exclusive')
     and w.name <> '?' and locks_clash.name <> '?' and (w.name = locks_clash.name or '*' in (w.name, locks_clash.name))
  end
  from (select regexp_replace(substr(want, strpos(want, ':') + 1), '=[a-z]+$', '') as name) w
$$;

-- first_behind: the first jobs that wait behind a lock. One job of each type is looked up, and the most urgent of them
-- taken; this is repeated `most` times. Of one type and priority, keys take turns (lock_turns.sql). Types in but_types are
-- left out. Indexes: jobqueue_locked, one probe for each type; those of lock_turns.
-- Grant: scheduler
create or replace function bellhop.first_behind(lock text, most integer, but_types text[]) returns table (job bigint, fence bigint, locks text[])
language plpgsql volatile -- sql would not do: plpgsql keeps its plans
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with recursive t as (
    (select j.type from bellhop.jobqueue j
      where coalesce(j.behind, '') = first_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
      order by j.type limit 1)
    union all
    select (select j.type from bellhop.jobqueue j
             where coalesce(j.behind, '') = first_behind.lock and j.state = 'ready' and not j.held and j.locks is not null and j.type > t.type
             order by j.type limit 1)
      from t where t.type is not null
  ), turns as materialized (
    select o.id, o.place
      from t
     cross join lateral (
       select j.priority from bellhop.jobqueue j
        where coalesce(j.behind, '') = first_behind.lock and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
        order by j.priority, j.id limit 1) best
     cross join lateral bellhop.lock_turns(first_behind.lock, t.type, best.priority, first_behind.most) o
     where t.type is not null and t.type <> all (first_behind.but_types)
  ), in_turn as (
    select j.id, j.fence, j.priority, j.locks, o.place
      from turns o
     cross join lateral (select * from bellhop.jobqueue j where j.id = o.id for update skip locked) j
  ), by_id as (
    select f.id, f.fence, f.priority, f.locks, null::bigint
      from t
     cross join lateral (
       select j.id, j.fence, j.priority, j.locks from bellhop.jobqueue j
        where coalesce(j.behind, '') = first_behind.lock and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
          and not exists (select from turns o where o.id = j.id)
        order by j.priority, j.id limit first_behind.most
          for update skip locked) f
     where t.type is not null and t.type <> all (first_behind.but_types)
  )
  select f.id, f.fence, f.locks
    from (table in_turn union all table by_id) f
   order by f.priority, f.place, f.id limit first_behind.most; -- nulls come last
end
$$;

-- idle_turn: whether a turn is so old that it counts for nothing: no instance has room for its job, or its type is
-- paused. A job that can start does not wait for it.
-- Grant: scheduler
create or replace function bellhop.idle_turn(since timestamptz) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select idle_turn.since < clock_timestamp() - interval '2 s' $$;

-- waited_for: the locks behind which jobs wait, at most this many of those beyond one. Index: jobqueue_locked, one
-- probe for each.
-- Grant: scheduler
create or replace function bellhop.waited_for(most integer, beyond text default '') returns table (behind text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive l as (
    (select coalesce(j.behind, '') as behind, 1 as n from bellhop.jobqueue j
      where coalesce(j.behind, '') > waited_for.beyond and j.state = 'ready' and not j.held and j.locks is not null
      order by coalesce(j.behind, '') limit 1)
    union all
    select (select coalesce(j.behind, '') from bellhop.jobqueue j
             where coalesce(j.behind, '') > l.behind and j.state = 'ready' and not j.held and j.locks is not null
             order by coalesce(j.behind, '') limit 1), l.n + 1
      from l where l.behind is not null and l.n < most
  )
  select l.behind from l where l.behind is not null
$$;

-- lock_queue: the holders of each lock, and the first jobs that wait behind it, in their order; without a lock, the
-- jobs that the next pass looks at. For readers. Indexes: lock_grant's; jobqueue_locked, a probe for each lock behind
-- which jobs wait, and for each type there.
-- Grant: reader scheduler
create or replace function bellhop.lock_queue(most integer)
returns table (level text, name text, mode text, what text, job bigint, type text, instance bigint, since timestamptz, place bigint, waiting_for text)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set jit = off -- its estimates assume the worst: to compile it takes a second, and to run it a tenth of that
as $$
  with recursive waited as (
    select w.behind from bellhop.waited_for(1000) w where bellhop.is_reader()
    union all
    select '' where bellhop.is_reader()
  ), typed as (
    select w.behind, (select min(j.type) from bellhop.jobqueue j
                       where coalesce(j.behind, '') = w.behind and j.state = 'ready' and not j.held and j.locks is not null) as type
      from waited w
    union all
    select t.behind, (select min(j.type) from bellhop.jobqueue j
                       where coalesce(j.behind, '') = t.behind and j.state = 'ready' and not j.held and j.locks is not null and j.type > t.type)
      from typed t where t.type is not null
  ), waiting as (
    select t.behind, f.*, row_number() over (partition by t.behind order by f.priority, f.id) as place
      from typed t
     cross join lateral (
       select j.id, j.type, j.priority, j.created_at, j.waiting_for from bellhop.jobqueue j
        where coalesce(j.behind, '') = t.behind and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
        order by j.priority, j.id limit lock_queue.most) f
     where t.type is not null
  )
  select l.level, l.name, l.mode, 'holds', l.job, j.type, l.instance, l.since, null::bigint, null::text
    from bellhop.lock l
   -- one by one: else all of the queue is read
   cross join lateral (select q.type from bellhop.jobqueue q where q.id = l.job offset 0) j
   where bellhop.is_reader()
  union all
  select split_part(w.behind, ':', 1), substr(w.behind, strpos(w.behind, ':') + 1), null, case w.behind when '' then 'next' else 'waits' end,
         w.id, w.type, null, w.created_at, w.place, w.waiting_for
    from waiting w where w.place <= lock_queue.most
$$;

-- lock_reservations: the reserved jobs, 200 at the most: no younger job starts that would be in their way. For readers.
-- Grant: reader scheduler
create or replace function bellhop.lock_reservations() returns setof bigint
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select r.job from bellhop.lock_reserved r where bellhop.is_reader()
$$;

-- lock_places: how many jobs may have a limit's place at once; NULL: it is not a limit.
-- Grant: scheduler
create or replace function bellhop.lock_places(level text, name text) returns numeric
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case level
    when 'rate-limit' then substring(name, '^[0-9]+')::numeric
    when 'filter' then coalesce((select substring(f.action, '[0-9]+')::numeric from bellhop.filter f where f.id = split_part(lock_places.name, ' ', 1)), 32)
  end
$$;

-- pass_locks: hands locks whose holder has ended to jobs that wait behind them and may take them. Such a job has a
-- turn, and the pass that calls this looks at it. Each place of a limit goes to one job. A lock goes to one job that
-- wants it alone, or to the jobs that share it. It goes to many jobs, too, if it only was in their way (they wait
-- behind big, or every name of a level). This function does not know the locks that agents add: those jobs go one by
-- one. Each lock goes to at most this many jobs, as many as may start now. Returns the types of these jobs. Called
-- under the advisory lock of passes, so that two never hand on the same lock.
-- Grant: scheduler
create or replace function bellhop.pass_locks(most integer default 32) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off -- each row is probed for, whatever the statistics say: else all of the queue is read
set enable_mergejoin = off
as $$
declare
  k      record;
  next   record;
  lock   text;
  places numeric;
  along  boolean;
  alive  text[];
  idle   text[];
  turns  integer;
  woken  text[] := '{}';
  freed  boolean := false;
begin
  for k in
    with over as (
      delete from bellhop.lock_grant g
       where (g.until is null or g.until <= clock_timestamp())
         and (g.until is not null and g.level = 'filter' -- a start, which counts for its time, and no longer
              or not exists (select from bellhop.jobqueue j
                              where j.id = g.job and j.fence = g.fence
                                and case g.mode when 'turn' then j.state = 'ready' and not j.held and coalesce(j.behind, '') = ''
                                                when 'kept' then j.state = 'ready' and not j.held
                                                                 and exists (select from bellhop.lock_reserved r where r.job = j.id)
                                                else j.state in ('assigned', 'running') or g.rests and j.state in ('blocked', 'scheduled', 'ready', 'held')
                                                     -- it runs on an engine, and its next watcher is to come
                                                     or j.state in ('ready', 'held') and exists (select from bellhop.engine_job e
                                                                  where e.job = j.id and e.state in ('submitting', 'running') and e.attempt = j.attempt + 1) end))
      returning g.level, g.name, g.mode
    )
    select distinct o.level, o.name
      from over o
     -- mostly no job waits. The order matters: else the primary key would fit as well
     where (select true from bellhop.jobqueue j
             where coalesce(j.behind, '') = o.level || ':' || o.name and j.state = 'ready' and not j.held and j.locks is not null
             order by j.type, j.priority, j.id limit 1)
     order by o.level, o.name
  loop
    freed := true;
    lock := k.level || ':' || k.name;
    -- Running jobs that wait for it come first. The condition of idle_turn is repeated here: a function in SQL is
    -- planned again for each statement that calls it.
    alive := array(select g.mode from bellhop.lock_grant g
                    where g.level = k.level and g.name = k.name
                      and not (g.mode = 'turn' and g.since < clock_timestamp() - interval '2 s')
                   union all select w.mode from bellhop.lock_waiting w where w.level = k.level and w.name = k.name);
    idle := array(select j.type from bellhop.lock_grant g join bellhop.jobqueue j on j.id = g.job
                   where g.level = k.level and g.name = k.name and g.mode = 'turn' and g.since < clock_timestamp() - interval '2 s');
    places := case when k.level in ('rate-limit', 'filter') then bellhop.lock_places(k.level, k.name) end - cardinality(alive);
    continue when places <= 0 or places is null and alive && '{exclusive,turn,kept}';
    turns := 0;
    for next in select * from bellhop.first_behind(lock, least(places, pass_locks.most)::integer, idle) loop
      along := places is not null or lock || '=shared' = any (next.locks)
            or alive = '{}' and next.locks <> '{}' and case k.level when 'big' then 'big' else lock || '=exclusive' end <> all (next.locks);
      -- Beside sharers, one job whose locks are unknown may go, and is looked at.
      exit when not along and (turns > 0 or alive <> '{}' and next.locks <> '{}');
      turns := turns + 1;
      woken := woken || (select j.type from bellhop.jobqueue j where j.id = next.job);
      update bellhop.jobqueue j set behind = '' where j.id = next.job;
      insert into bellhop.lock_grant (level, name, job, fence, mode) values (k.level, k.name, next.job, next.fence, 'turn')
      on conflict (level, name, job) do update set fence = excluded.fence, mode = excluded.mode, since = clock_timestamp();
      exit when not along;
    end loop;
  end loop;
  if freed and exists (select from bellhop.lock_waiting) then
    perform pg_notify('bellhop', 'locks'); -- other instances' jobs may wait for it
  end if;
  return woken;
end
$$;

-- find_lost_turns: gives a turn to the first job behind each lock that has no row any more (the row was deleted, or the
-- job was held in the meantime), or whose turn no instance takes. One probe for each of the given locks. Returns how
-- many there were. Index: jobqueue_locked.
-- Grant: scheduler
create or replace function bellhop.find_lost_turns(locks text[]) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  found_now integer;
begin
  with l as (
    select split_part(w.behind, ':', 1) as level, substr(w.behind, strpos(w.behind, ':') + 1) as name
      from unnest(find_lost_turns.locks) w (behind)
  ), ownerless as (
    select l.level, l.name from l
     -- an existing rule holds its jobs
     where (l.level <> 'paused' or not exists (select from bellhop.filter f where f.id = l.name and f.action = 'PAUSE'))
       and (select count(*) from bellhop.lock_grant g
             where g.level = l.level and g.name = l.name and not (g.mode = 'turn' and bellhop.idle_turn(g.since)))
         < coalesce(bellhop.lock_places(l.level, l.name), 1)
  ), made as (
    -- A row without a job is not alive: the next pass hands the lock on.
    insert into bellhop.lock_grant (level, name, job, fence, mode)
    select o.level, o.name, 0, 0, 'turn' from ownerless o
    on conflict do nothing
    returning 1
  )
  select count(*) into found_now from made;
  return found_now;
end
$$;

-- heads_behind: the oldest job of each type and priority that waits behind a lock, or ('') that the next pass looks at.
-- Waiting improves a job's priority, so any of them may be the first by now. No row is locked. Index: jobqueue_locked,
-- one probe for each type and priority.
-- Grant: scheduler
create or replace function bellhop.heads_behind(lock text) returns table (job bigint, since timestamptz)
language plpgsql stable -- sql would not do: plpgsql keeps its plans
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with recursive t as (
    (select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
      where coalesce(j.behind, '') = heads_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
      order by j.type, j.priority, j.id limit 1)
    union all
    select n.id, n.type, n.priority, n.created_at
      from t
     cross join lateral (
       select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
        where coalesce(j.behind, '') = heads_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
          and (j.type, j.priority) > (t.type, t.priority)
        order by j.type, j.priority, j.id limit 1) n
  )
  select t.id, t.created_at from t;
end
$$;

-- is_served: whether some host may start a job of a type. Nothing is reserved for a job whose type is paused
-- everywhere, or that no host which is up would take; it is reserved as soon as one would.
-- Grant: scheduler
create or replace function bellhop.is_served(type text, job bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from bellhop.jobqueue j
                  cross join bellhop.instance i
                   join bellhop.agent a on a.instance = i.id
                   join bellhop.host h on h.instance = i.id
                  where j.id = is_served.job and i.state = 'live' and not i.paused && array[is_served.type, '']
                    and (a.type = is_served.type or a.type = 'rjm' and exists (select from bellhop.rjm r where r.job = j.id))
                    and h.state = 'up' and not a.refused ? h.name
                    and (j.run_on is null or bellhop.answers(h.name, h.serves, j.run_on)
                         or exists (select from bellhop.located l where l.instance = i.id and l.key = j.run_on and h.name = any (l.hosts)))
                    and (h.only_rjm is null or a.type <> 'rjm' or is_served.type ~ h.only_rjm)
                    and bellhop.takes(h.only_priorities, h.only_names, j.priority, j.priority_name))
$$;

-- locks_round: the safety scan's work on locks, 1,000 at once: if there are more, each scan sees the next. It is also
-- done when a waiting job reaches the age at which it is reserved. reserve_after: that age, in ms; 0: no job is
-- reserved. locked: whether any job with locks is ready, or holds some; reserved: how many jobs are newly reserved;
-- next_in: in how many ms the next one reaches the age, of the first of each type and priority behind a lock; NULL:
-- none.
-- Grant: scheduler
create or replace function bellhop.locks_round(reserve_after bigint, out locked boolean, out reserved integer, out next_in double precision)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  most constant integer := 1000;
  beyond text;
  locks  text[];
  now    timestamptz;
  next   timestamptz;
begin
  locked := false;
  reserved := 0;
  -- The cheap test comes first. An uncommitted INSERT of a million rows stands behind no lock, and a look there walks
  -- all of it.
  if not exists (select from bellhop.lock_grant)
     and (select true from bellhop.jobqueue j where coalesce(j.behind, '') > '' and j.state = 'ready' and not j.held and j.locks is not null
           order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1) is null
     and (select true from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
           order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1) is null then
    return;
  end if;
  locked := true;
  select s.beyond into beyond from bellhop.lock_scan s;
  locks := array(select w.behind from bellhop.waited_for(most, coalesce(beyond, '')) w);
  if cardinality(locks) < most and beyond > '' then -- and on from the first of all
    locks := locks || array(select w.behind from bellhop.waited_for(most - cardinality(locks)) w where w.behind <= beyond);
  end if;
  if cardinality(locks) = most or beyond > '' then
    update bellhop.lock_scan s set beyond = case cardinality(locks) when most then locks[most] else '' end
      -- another instance's scan goes on from there as well
      from (select l.one from bellhop.lock_scan l for update skip locked) free
     where s.one = free.one;
  end if;
  perform bellhop.find_lost_turns(locks);
  delete from bellhop.lock_reserved r
   where not exists (select from bellhop.jobqueue j
                      where j.id = r.job and j.state || '' = 'ready' and not j.held and j.locks is not null and bellhop.is_served(j.type, j.id));
  if reserve_after > 0 then
    now := clock_timestamp();
    with heads as materialized (
      select f.job, f.since
        from (select '' as behind union all select l.behind from unnest(locks) l (behind)) w
       cross join lateral bellhop.heads_behind(w.behind) f
       -- no lock keeps them waiting
       where split_part(w.behind, ':', 1) not in ('paused', 'filter', 'rate-limit', 'unreadable')
    ), made as (
      insert into bellhop.lock_reserved (job)
      select h.job
        from heads h
       where h.since <= now - reserve_after * interval '1 ms'
         and not exists (select from bellhop.lock_reserved r where r.job = h.job)
         and bellhop.is_served((select j.type from bellhop.jobqueue j where j.id = h.job), h.job)
       -- each pass looks at all of them
       order by h.since, h.job limit greatest(0, 200 - (select count(*) from bellhop.lock_reserved))
      on conflict do nothing
      returning job
    )
    select (select count(*) from made), min(h.since) into reserved, next
      from heads h
     where h.since > now - reserve_after * interval '1 ms';
    if next is not null then
      next_in := greatest(0, extract(epoch from next - clock_timestamp()) * 1000 + reserve_after);
    end if;
  end if;
end
$$;

-- locks_upkeep: locks_round as older binaries call it. Returns whether any job with locks is ready,
-- or holds some.
-- Grant: scheduler
create or replace function bellhop.locks_upkeep(reserve_after bigint) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select t.locked from bellhop.locks_round(reserve_after) t $$;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, update on bellhop.lockable_row to bellhop_scheduler;
    grant select on bellhop.lock to bellhop_reader, bellhop_scheduler;
  end if;
end
$$;
