-- lock_holders: the jobs that hold a lock which conflicts with one of the wanted locks, a row for each pair. Names meet
-- by equality, and only wildcards and big are compared with all: so a job with 10,000 locks is compared with 10,000
-- held ones in a moment. Index: lock_grant's primary key, all of which is read once.
-- Grant: scheduler
create or replace function bellhop.lock_holders(wants text[]) returns table (job bigint, since timestamptz, want text, held text)
language plpgsql stable -- not sql: it is made before the view that it reads
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with w as materialized (
    select distinct t.want, split_part(t.want, ':', 1) as level, regexp_replace(substr(t.want, strpos(t.want, ':') + 1), '=[a-z]+$', '') as name
      from unnest(lock_holders.wants) t (want)
  ), g as materialized (
    select l.level, l.name, l.mode, l.job, l.since from bellhop.lock l
  ), pair as (
    select w.want, g.level, g.name, g.mode, g.job, g.since from w join g on g.level = w.level and g.name = w.name
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from w join g on g.level = w.level where w.name = '*'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from g join w on w.level = g.level where g.name = '*'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from w cross join g where w.want = 'big'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from g cross join w where g.level = 'big'
  )
  select p.job, p.since, p.want, case p.level when 'big' then 'big' else format('%s:%s=%s', p.level, p.name, p.mode) end
    from pair p
   where bellhop.locks_clash(p.want, p.level, p.name, p.mode);
end
$$;

-- wanted_locks: the locks that a ready job needs. Locks that its agent adds stand in no row. They are taken to be the
-- lock that its waiting_for names, or else the one behind which it waits, exclusively. If its row names a lock of that
-- level, the row counts: a job that shares a lock may wait behind it, because the lock is kept for another.
-- Grant: scheduler
create or replace function bellhop.wanted_locks(locks text[], waiting_for text, behind text) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select array_remove(wanted_locks.locks || case
    when said.want is not null then said.want
    when w.level in ('', 'big', 'rate-limit', 'filter', 'paused', 'unreadable') then null
    when exists (select from unnest(wanted_locks.locks) l (want) where l.want = 'big' or split_part(l.want, ':', 1) = w.level) then null
    else wanted_locks.behind || '=exclusive' end, null)
    from (select substring(wanted_locks.waiting_for from '^lock_(?:held|reserved): (.*), and job [0-9]+(?: has |, which has waited longer, )') as want) said,
         (select coalesce(split_part(wanted_locks.behind, ':', 1), '') as level) w
$$;

-- blockers: the job that a job waits for, the job that this one waits for, and so on, down to one that waits for no
-- other job: a chain of at most 50. Each link is the lowest id. A needed job comes first, then the holder of a lock
-- that the job needs or asked for, then the job for which a lock is reserved. why: the lock that the blocker holds;
-- NULL: the job before needs it to have ended.
-- Indexes: jobqueue's and dependency's primary keys.
-- Grant: none
create or replace function bellhop.blockers(id bigint) returns table (n integer, job bigint, type text, state text, since timestamptz, why text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  link bellhop.jobqueue;
  seen bigint[] := array[id];
begin
  n := 0;
  select q.* into link from bellhop.jobqueue q where q.id = blockers.id;
  while found and n < 50 loop
    job := null;
    why := null;
    if link.state in ('blocked', 'ready', 'held', 'scheduled') then
      select d.needs into job
        from bellhop.dependency d join bellhop.jobqueue q on q.id = d.needs
       where d.job = link.id and not d.met and q.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')
       order by d.needs limit 1;
    end if;
    if job is null and link.state = 'ready' and link.locks is not null then
      select h.job, h.held into job, why
        from bellhop.lock_holders(bellhop.wanted_locks(link.locks, link.waiting_for, link.behind)) h
       where h.job <> link.id order by h.job, h.held limit 1;
      if job is null then
        job := substring(link.waiting_for from '^lock_reserved: .*, and job ([0-9]+), which has waited longer, comes first with ')::bigint;
        why := substring(link.waiting_for from '^lock_reserved: .*, comes first with (.*)$');
      end if;
    elsif job is null and link.state in ('assigned', 'running') then
      select h.job, h.held into job, why
        from bellhop.lock_holders(array(select case w.level when 'big' then 'big' else format('%s:%s=%s', w.level, w.name, w.mode) end
                                          from bellhop.lock_waiting w where w.job = link.id)) h
       where h.job <> link.id order by h.job, h.held limit 1;
    end if;
    exit when job is null or job = any (seen);
    seen := seen || job;
    select q.* into link from bellhop.jobqueue q where q.id = job;
    exit when not found;
    n := n + 1;
    type := link.type;
    state := link.state;
    since := case when link.state in ('assigned', 'running') then coalesce(link.attempt_at, link.started_at) else link.created_at end;
    return next;
  end loop;
end
$$;

-- chain: the blockers of a job in words, from its own down to the one that waits for no other; NULL if there are fewer
-- than two.
-- Grant: none
create or replace function bellhop.chain(id bigint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when count(*) > 1 then string_agg(format('job %s (%s), which %s%s', b.job, b.type,
           case b.state when 'running' then 'runs' || bellhop.since(b.since) when 'assigned' then 'has begun' || bellhop.since(b.since) else 'is ' || b.state end,
           coalesce(' and holds ' || case when b.state in ('assigned', 'running', 'blocked', 'scheduled', 'held') then b.why end, ' and comes first with ' || b.why, '')),
           '; that one waits for ' order by b.n) end
    from bellhop.blockers(chain.id) b
$$;
