-- Fair shares of jobs that passes claim: those with locks, and those that filters pause or limit. Keys take turns as in
-- shares.sql, and in the same line: each start moves its key on, whichever claim has made it. Passes are made one at a
-- time, and those of one type and priority have one line, that of jobs without a place.

-- lock_turns: the next jobs of a type and priority that wait behind a lock ('': behind none), at most so many, and their
-- place in the order of turns. A key's jobs come in the order of their ids. It looks at 256 keys, and at the next 256
-- when it is called again. Without any share it returns nothing: then the order of ids holds.
-- Indexes: jobqueue_locked_share, one probe for each key and one range for each of the keys that are next; share_line's
-- and share_clock's primary keys.
-- Grant: scheduler
create or replace function bellhop.lock_turns(lock text, type text, priority smallint, most integer)
returns table (id bigint, place bigint)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  from_ text;
  now_  float8;
  keys  text[];
begin
  select c.turned, c.now into from_, now_ from bellhop.share_clock c
   where c.type = lock_turns.type and c.place = '' and c.priority = lock_turns.priority;
  from_ := coalesce(from_, '');
  with recursive later as (
    (select coalesce(j.share, '') as share, 1 as n from bellhop.jobqueue j
      where coalesce(j.behind, '') = lock_turns.lock and j.type = lock_turns.type and j.priority = lock_turns.priority
        and coalesce(j.share, '') >= from_ and j.state = 'ready' and not j.held and j.locks is not null
      order by coalesce(j.share, '') limit 1)
    union all
    select f.share, l.n + 1 from later l
     cross join lateral (
       select coalesce(j.share, '') as share from bellhop.jobqueue j
        where coalesce(j.behind, '') = lock_turns.lock and j.type = lock_turns.type and j.priority = lock_turns.priority
          and coalesce(j.share, '') > l.share and j.state = 'ready' and not j.held and j.locks is not null
        order by coalesce(j.share, '') limit 1) f
     where l.n < 256
  ), earlier as (
    (select coalesce(j.share, '') as share, 1 + (select count(*) from later) as n from bellhop.jobqueue j
      where coalesce(j.behind, '') = lock_turns.lock and j.type = lock_turns.type and j.priority = lock_turns.priority
        and coalesce(j.share, '') < from_ and j.state = 'ready' and not j.held and j.locks is not null
        and (select count(*) from later) < 256
      order by coalesce(j.share, '') limit 1)
    union all
    select f.share, e.n + 1 from earlier e
     cross join lateral (
       select coalesce(j.share, '') as share from bellhop.jobqueue j
        where coalesce(j.behind, '') = lock_turns.lock and j.type = lock_turns.type and j.priority = lock_turns.priority
          and coalesce(j.share, '') > e.share and coalesce(j.share, '') < from_
          and j.state = 'ready' and not j.held and j.locks is not null
        order by coalesce(j.share, '') limit 1) f
     where e.n < 256
  )
  select array_agg(k.share order by k.n) into keys from (table later union all table earlier) k;
  if keys is null or keys = '{""}' then
    return;
  end if;
  if cardinality(keys) = 256 then
    insert into bellhop.share_clock as c (type, place, priority, turned) values (lock_turns.type, '', lock_turns.priority, keys[256])
    on conflict on constraint share_clock_pkey do update set turned = excluded.turned;
  end if;
  return query
    with k as (
      select k.share, greatest(l.tag, now_, 0) as tag, case when l.tag > now_ then 1 else coalesce(l.turn, 0) end::smallint as turn,
             coalesce(l.came, 9223372036854775807) as came, coalesce(s.weight, 1)::float8 as weight
        from unnest(keys) as k (share)
        left join bellhop.share_line l on l.type = lock_turns.type and l.place = '' and l.priority = lock_turns.priority and l.share = k.share
        left join bellhop.share s on s.type = lock_turns.type and s.name = k.share
       order by 2, 3, 4 limit lock_turns.most
    ), part as (
      select k.*, ceil(lock_turns.most * k.weight / sum(k.weight) over ())::integer + 1 as jobs from k
    )
    select j.id, row_number() over (order by p.tag + (j.n - 1) / p.weight, case when j.n = 1 then p.turn else 1 end, p.came, j.id)
      from part p
     cross join lateral (
       select q.id, row_number() over (order by q.id) as n from (
         select r.id from bellhop.jobqueue r
          where coalesce(r.behind, '') = lock_turns.lock and r.type = lock_turns.type and r.priority = lock_turns.priority
            and coalesce(r.share, '') = p.share and r.state = 'ready' and not r.held and r.locks is not null
          order by r.id limit p.jobs) q) j
     order by 2 limit lock_turns.most;
end
$$;

-- lock_turns_taken: moves the keys of the jobs that a pass has started: of each type and priority these keys, with so many
-- starts. When no other job of that type and priority waits, no key owes; rest: the pass has seen one. Others may wait
-- behind locks, of which it looks at 50. Locks the clocks, in the order of types and priorities. Indexes: the primary
-- keys; share_line_next, share_line_idle; jobqueue_locked, a probe for each lock.
-- Grant: scheduler
create or replace function bellhop.lock_turns_taken(types text[], priorities smallint[], shares text[], starts integer[], rest boolean[]) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  line record;
  now_ float8;
  over boolean;
begin
  for line in
    select s.type, s.priority, bool_or(s.rest) as rest from unnest(types, priorities, rest) as s (type, priority, rest)
     group by s.type, s.priority order by s.type, s.priority
  loop
    insert into bellhop.share_clock (type, place, priority) values (line.type, '', line.priority) on conflict do nothing;
    select c.now into strict now_ from bellhop.share_clock c
     where c.type = line.type and c.place = '' and c.priority = line.priority for no key update;
    with own as (
      select s.share, s.starts, 1 / coalesce(w.weight, 1)::float8 as step,
             greatest(now_, (select l.tag from bellhop.share_line l
                              where l.type = line.type and l.place = '' and l.priority = line.priority and l.share = s.share)) as tag
        from unnest(types, priorities, shares, starts) as s (type, priority, share, starts)
        left join bellhop.share w on w.type = s.type and w.name = s.share
       where s.type = line.type and s.priority = line.priority
    ), moved as (
      insert into bellhop.share_line as l (type, place, priority, share, tag, turn, came, idle, started)
      select line.type, '', line.priority, o.share, o.tag + o.starts * o.step, 1, 0, true, o.starts from own o
      on conflict on constraint share_line_pkey do update
         set tag = excluded.tag, turn = 1, started = l.started + excluded.started
    )
    select max(o.tag + (o.starts - 1) * o.step) into now_ from own o;
    update bellhop.share_clock c set now = greatest(c.now, now_)
     where c.type = line.type and c.place = '' and c.priority = line.priority;
    over := not line.rest
      and not exists (select from bellhop.share_line o
                       where o.type = line.type and o.place = '' and o.priority = line.priority and not o.idle)
      and not exists (
        select from bellhop.waited_for(50) with ordinality as w (behind, n)
         where w.n = 50
            or exists (select from bellhop.jobqueue j
                        where coalesce(j.behind, '') = w.behind and j.type = line.type and j.priority = line.priority
                          and j.state = 'ready' and not j.held and j.locks is not null));
    delete from bellhop.share_line l
     where l.type = line.type and l.place = '' and l.priority = line.priority and l.idle
       and (l.tag <= now_ or over);
  end loop;
end
$$;

-- lock_share_ahead: of a ready job with locks that waits for room alone, how many starts of its type and priority come
-- before its own, as far as a look at 256 keys shows (up to 1,000 jobs of each), and the key whose turn is next. None
-- where no such job has a share, and for an aged job, which keeps its place. Index: jobqueue_locked_share, a probe and a
-- range for each key; the primary keys of share_line, share_clock and lock_reserved.
-- Grant: none
create or replace function bellhop.lock_share_ahead(j bellhop.jobqueue, out starts bigint, out next text)
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  lock text := coalesce(j.behind, '');
  own  text := coalesce(j.share, '');
  now_ float8;
  keys text[];
  mine record;
begin
  starts := 0;
  if exists (select from bellhop.lock_reserved r where r.job = j.id) then
    return;
  end if;
  with recursive k as (
    (select coalesce(q.share, '') as share, 1 as n from bellhop.jobqueue q
      where coalesce(q.behind, '') = lock and q.type = j.type and q.priority = j.priority
        and q.state = 'ready' and not q.held and q.locks is not null
      order by coalesce(q.share, '') limit 1)
    union all
    select f.share, k.n + 1 from k
     cross join lateral (
       select coalesce(q.share, '') as share from bellhop.jobqueue q
        where coalesce(q.behind, '') = lock and q.type = j.type and q.priority = j.priority and coalesce(q.share, '') > k.share
          and q.state = 'ready' and not q.held and q.locks is not null
        order by coalesce(q.share, '') limit 1) f
     where k.n < 256
  )
  select array_agg(k.share) into keys from k;
  if keys is null or own = '' and keys = '{""}' then
    return;
  end if;
  select c.now into now_ from bellhop.share_clock c where c.type = j.type and c.place = '' and c.priority = j.priority;
  now_ := coalesce(now_, 0);
  select greatest(l.tag, now_) + o.n / coalesce(s.weight, 1) as tag, o.n as earlier,
         case when o.n > 0 or l.tag > now_ then 1 else coalesce(l.turn, 0) end as turn, coalesce(l.came, 9223372036854775807) as came into mine
    from (select count(*) as n from (
            select from bellhop.jobqueue q
             where coalesce(q.behind, '') = lock and q.type = j.type and q.priority = j.priority and coalesce(q.share, '') = own and q.id < j.id
               and q.state = 'ready' and not q.held and q.locks is not null limit 1000) x) o
    left join bellhop.share_line l on l.type = j.type and l.place = '' and l.priority = j.priority and l.share = own
    left join bellhop.share s on s.type = j.type and s.name = j.share;
  select mine.earlier + coalesce(sum(r.ready), 0), (array_agg(o.share order by o.tag, o.turn, o.came, o.id))[1] into starts, next
    from (select k.share, greatest(l.tag, now_) as tag, case when l.tag > now_ then 1 else coalesce(l.turn, 0) end as turn,
                 coalesce(l.came, 9223372036854775807) as came, coalesce(s.weight, 1)::float8 as weight,
                 (select q.id from bellhop.jobqueue q
                   where coalesce(q.behind, '') = lock and q.type = j.type and q.priority = j.priority and coalesce(q.share, '') = k.share
                     and q.state = 'ready' and not q.held and q.locks is not null order by q.id limit 1) as id
            from unnest(keys) as k (share)
            left join bellhop.share_line l on l.type = j.type and l.place = '' and l.priority = j.priority and l.share = k.share
            left join bellhop.share s on s.type = j.type and s.name = k.share
           where k.share <> own) o
   cross join lateral (
     select count(*) as ready from (
       select from bellhop.jobqueue q
        where coalesce(q.behind, '') = lock and q.type = j.type and q.priority = j.priority and coalesce(q.share, '') = o.share
          and q.state = 'ready' and not q.held and q.locks is not null
        limit greatest(0, least(1000, floor((mine.tag - o.tag) * o.weight) + 1))) x) r
   where (o.tag, o.turn, o.came, o.id) < (mine.tag, mine.turn, mine.came, j.id);
end
$$;
