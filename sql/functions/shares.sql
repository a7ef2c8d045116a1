-- Fair shares (../../docs/shares.md): among jobs of one type, place and priority, the key with the least service starts
-- next. Each start moves its key on by 1/weight of virtual time, and a key that had no work comes in at the present
-- time. Jobs without a share are one key, ''. scheduler/fair has the same order as a model.

-- has_shares: whether keys of a type are in the line, or have come. Indexes: share_line's primary key; share_arrival_key.
-- Grant: scheduler
create or replace function bellhop.has_shares(type text) returns boolean
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  return exists (select from bellhop.share_line l where l.type = has_shares.type)
      or exists (select from bellhop.share_arrival a where a.type = has_shares.type);
end
$$;

-- tell_shares: the ordinary claims leave a type to claim_shared while a job of it with a share is ready: they look for
-- one in jobqueue_shared, an index of the table that they write anyway. Two tables more were 11 % of a cold claim. They
-- learn of it by this notice, and take nothing of the type. STABLE, so that it is called once a statement, before rows
-- are looked at.
-- Grant: scheduler
create or replace function bellhop.tell_shares(type text) returns boolean
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
set client_min_messages = notice
as $$
begin
  raise notice using errcode = 'BH010', message = tell_shares.type;
  return false;
end
$$;

-- pick_of_line: the next n jobs of a type, place and priority, locked, in the order in which they start. Guard: startable
-- or shareable, and what the caller takes (msq, only_priorities, only_names); rows that other transactions have locked
-- are passed over, and the clock's row lets one claim at a time look at a line. Indexes: those of the line;
-- jobqueue_shared, one range for each key; jobqueue_ready or jobqueue_pinned.
-- Grant: scheduler
create or replace function bellhop.pick_of_line(
  type text, place text, priority smallint, n integer, msq boolean, only_priorities integer[], only_names text,
  had bigint[] -- this claim has them already: its own locks do not keep it from them
) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  picks   bigint[] := '{}';
  passed  text[] := '{}'; -- keys of which this claim has taken all that it may
  time_   float8;
  from_   text; -- keys that come after this one are read
  to_     text;
  here    bigint[];
  short   text[];
  -- Of so many jobs that they are done within a few ms, a key has up to 8 in one turn: each turn writes the key's row.
  turn_   integer := greatest(1, least(8, pick_of_line.n / 64));
  last_   float8;
  lines   bigint;
begin
  if not bellhop.has_shares(pick_of_line.type) then
    return case when pick_of_line.place = '' then
        array(select r.id from bellhop.startable r
               where r.type = pick_of_line.type and r.run_on is null and r.priority = pick_of_line.priority and (pick_of_line.msq or r.msq is null)
                 and bellhop.takes(only_priorities, only_names, r.priority, r.priority_name) and r.id <> all (had)
               order by r.id limit pick_of_line.n for update of r skip locked)
      else
        array(select r.id from bellhop.startable r
               where r.type = pick_of_line.type and r.run_on = pick_of_line.place and r.priority = pick_of_line.priority and (pick_of_line.msq or r.msq is null)
                 and bellhop.takes(only_priorities, only_names, r.priority, r.priority_name) and r.id <> all (had)
               order by r.id limit pick_of_line.n for update of r skip locked) end;
  end if;

  select c.now, c.read_to into time_, from_ from bellhop.share_clock c
   where c.type = pick_of_line.type and c.place = pick_of_line.place and c.priority = pick_of_line.priority for no key update;
  if not found then
    insert into bellhop.share_clock (type, place, priority) values (pick_of_line.type, pick_of_line.place, pick_of_line.priority)
    on conflict do nothing;
    select c.now, c.read_to into strict time_, from_ from bellhop.share_clock c
     where c.type = pick_of_line.type and c.place = pick_of_line.place and c.priority = pick_of_line.priority for no key update;
  end if;

  -- The keys that have come get into the line: 300, and with the next claim the next 300. Of their rows, 2,000 are deleted.
  -- A key that owes, because it has started more than its share, keeps its tag.
  with recursive k as (
    (select a.share, a.id as came, 1 as n from bellhop.share_arrival a
      where a.type = pick_of_line.type and a.place = pick_of_line.place and a.priority = pick_of_line.priority and a.share > from_
      order by a.share, a.id limit 1)
    union all
    select f.share, f.id, k.n + 1 from k
     cross join lateral (
       select a.share, a.id from bellhop.share_arrival a
        where a.type = pick_of_line.type and a.place = pick_of_line.place and a.priority = pick_of_line.priority and a.share > k.share
        order by a.share, a.id limit 1) f
     where k.n < 300
  ), gone as (
    delete from bellhop.share_arrival a
     where a.ctid = any (array(
             select r.at from k
              cross join lateral (
                select b.ctid as at from bellhop.share_arrival b
                 where b.type = pick_of_line.type and b.place = pick_of_line.place and b.priority = pick_of_line.priority and b.share = k.share
                 limit 2000) r
              limit 2000))
  ), keys as (
    select k.share, k.came from k
    union all
    select '', 0 -- the jobs without a share
     where not exists (select from bellhop.share_line l where l.type = pick_of_line.type and l.place = pick_of_line.place
                          and l.priority = pick_of_line.priority and l.share = '' and not l.idle)
       and case when pick_of_line.place = ''
                then exists (select from bellhop.startable r where r.type = pick_of_line.type and r.run_on is null and r.priority = pick_of_line.priority)
                else exists (select from bellhop.startable r where r.type = pick_of_line.type and r.run_on = pick_of_line.place and r.priority = pick_of_line.priority) end
  ), entered as (
    insert into bellhop.share_line as l (type, place, priority, share, tag, turn, came, idle, started)
    select pick_of_line.type, pick_of_line.place, pick_of_line.priority, k.share, time_, 0, k.came, false, 0 from keys k
    on conflict (type, place, priority, share) do update
       set idle = false, tag = greatest(l.tag, excluded.tag), turn = case when l.tag <= excluded.tag then 0 else 1 end, came = excluded.came
     where l.idle
  )
  select coalesce((select max(k.share) from k having count(*) = 300), '') into to_;

  while cardinality(picks) < pick_of_line.n loop
    with l as ( -- more keys than turns are wanted cannot be among the next ones
      select l.share, l.tag, l.turn, l.came, 1 / coalesce(s.weight, 1)::float8 as step
        from bellhop.share_line l
        left join bellhop.share s on s.type = l.type and s.name = l.share
       where l.type = pick_of_line.type and l.place = pick_of_line.place and l.priority = pick_of_line.priority
         and not l.idle and l.share <> all (passed)
       order by l.tag, l.turn, l.came
       limit ceil((pick_of_line.n - cardinality(picks))::float8 / turn_)
    ), level as ( -- up to this tag there are enough starts
      select case when count(*) * turn_ >= pick_of_line.n - cardinality(picks) then max(l.tag)
                  else max(l.tag) + (pick_of_line.n + count(*)) / sum(1 / l.step) end as at from l
    ), start as (
      select l.share, l.tag + (g.i - g.i % turn_) * l.step as tag, case when g.i < turn_ then l.turn else 1 end as turn, l.came, l.step
        from l cross join level
       cross join lateral generate_series(0, least(pick_of_line.n - 1, floor((level.at - l.tag) / l.step) + turn_ - 1)::integer) as g (i)
       order by 2, 3, 4
       limit pick_of_line.n - cardinality(picks)
    ), want as (
      select s.share, min(s.tag) as tag, min(s.turn) as turn, min(s.came) as came, min(s.step) as step, count(*)::integer as n from start s group by s.share
    ), found as materialized (
      select w.share, w.tag, w.turn, w.came, w.step, w.n,
             case when w.share <> '' then
                 array(select r.id from bellhop.shareable r
                        where r.type = pick_of_line.type and r.place = pick_of_line.place and r.priority = pick_of_line.priority and r.share = w.share
                          and (pick_of_line.msq or r.msq is null) and bellhop.takes(only_priorities, only_names, r.priority, r.priority_name) and r.id <> all (had)
                        order by r.id limit w.n for update of r skip locked)
               when pick_of_line.place = '' then
                 array(select r.id from bellhop.startable r
                        where r.type = pick_of_line.type and r.run_on is null and r.priority = pick_of_line.priority
                          and (pick_of_line.msq or r.msq is null) and bellhop.takes(only_priorities, only_names, r.priority, r.priority_name) and r.id <> all (had)
                        order by r.id limit w.n for update of r skip locked)
               else
                 array(select r.id from bellhop.startable r
                        where r.type = pick_of_line.type and r.run_on = pick_of_line.place and r.priority = pick_of_line.priority
                          and (pick_of_line.msq or r.msq is null) and bellhop.takes(only_priorities, only_names, r.priority, r.priority_name) and r.id <> all (had)
                        order by r.id limit w.n for update of r skip locked)
             end as ids
        from want w
    ), moved as (
      update bellhop.share_line l
         set tag = l.tag + cardinality(f.ids) * f.step, turn = 1, started = l.started + cardinality(f.ids)
        from found f
       where l.type = pick_of_line.type and l.place = pick_of_line.place and l.priority = pick_of_line.priority and l.share = f.share
         and f.ids <> '{}'
    ), started as (
      select i.id, f.tag + (i.n - 1 - (i.n - 1) % turn_) * f.step as tag, case when i.n <= turn_ then f.turn else 1 end as turn, f.came
        from found f cross join lateral unnest(f.ids) with ordinality as i (id, n)
    )
    select (select array_agg(s.id order by s.tag, s.turn, s.came) from started s), (select max(s.tag) from started s),
           array_agg(f.share) filter (where cardinality(f.ids) < f.n), count(*)
      into here, last_, short, lines
      from found f;
    exit when lines = 0;
    picks := picks || coalesce(here, '{}');
    had := had || coalesce(here, '{}');
    time_ := greatest(time_, last_);
    turn_ := 1; -- keys that have fewer jobs would make the rest take many rounds
    if short is not null then
      passed := passed || short;
      -- A key is idle when it has no job at all. Those that this caller does not take, and those that a transaction has
      -- locked, keep its place.
      update bellhop.share_line l
         set idle = true
       where l.type = pick_of_line.type and l.place = pick_of_line.place and l.priority = pick_of_line.priority and l.share = any (short)
         and case when l.share <> '' then
               not exists (select from bellhop.shareable r where r.type = l.type and r.place = l.place and r.priority = l.priority and r.share = l.share
                              and r.id <> all (had))
             when l.place = '' then
               not exists (select from bellhop.startable r where r.type = l.type and r.run_on is null and r.priority = l.priority and r.id <> all (had))
             else
               not exists (select from bellhop.startable r where r.type = l.type and r.run_on = l.place and r.priority = l.priority and r.id <> all (had)) end;
    end if;
  end loop;

  if picks <> '{}' or to_ <> from_ then
    update bellhop.share_clock c set now = time_, read_to = to_
     where c.type = pick_of_line.type and c.place = pick_of_line.place and c.priority = pick_of_line.priority;
  end if;
  -- A key that owes nothing any more is forgotten; when no key has work, none owes.
  delete from bellhop.share_line l
   where l.type = pick_of_line.type and l.place = pick_of_line.place and l.priority = pick_of_line.priority and l.idle
     and (l.tag <= time_
       or not exists (select from bellhop.share_line o where o.type = pick_of_line.type and o.place = pick_of_line.place
                         and o.priority = pick_of_line.priority and not o.idle));
  return picks;
end
$$;

-- pick_shared: the next jobs of several types, locked, in the order in which they start: the most urgent first; among
-- lines of one priority, each gets an equal part. most, worst and placed are as in ../queries/claim_many.sql. Indexes:
-- those of pick_of_line; of each line one probe.
-- Grant: scheduler
create or replace function bellhop.pick_shared(
  types text[], most integer[], names text[], worst integer[], placed boolean[], msq boolean, total integer,
  only_priorities integer[] default null, only_names text default null
) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  picks  bigint[] := '{}';
  got    integer[] := array_fill(0, array[cardinality(types)]);
  done   integer := -21; -- up to this priority, all is taken that may be
  best   integer;        -- what is next
  line   record;
  here   bigint[];
  before integer;
begin
  while cardinality(picks) < total loop
    before := cardinality(picks);
    best := null;
    for line in
      with head as materialized (
        select d.n, d.type, d.most, d.worst, x.place, least(
                 (select l.priority from bellhop.share_line l
                   where l.type = d.type and l.place = x.place and l.priority > done and not l.idle order by l.priority limit 1),
                 (select a.priority from bellhop.share_arrival a
                   where a.type = d.type and a.place = x.place and a.priority > done order by a.priority limit 1),
                 case when x.place = '' then
                   (select r.priority from bellhop.startable r
                     where r.type = d.type and r.run_on is null and r.priority > done order by r.priority, r.id limit 1)
                 else
                   (select r.priority from bellhop.startable r
                     where r.type = d.type and r.run_on = x.place and r.priority > done order by r.priority, r.id limit 1) end) as priority
          from unnest(types, most, worst, placed) with ordinality as d (type, most, worst, placed, n)
         cross join lateral (select '' as place where not d.placed union all select n.name from unnest(names) as n (name)) x
         where got[d.n] < d.most
      ), next as (
        select h.* from head h
         where h.priority <= h.worst and h.priority = (select min(m.priority) from head m where m.priority <= m.worst)
      )
      select n.*, row_number() over (order by random()) as rest from next n order by rest desc
    loop
      if best is null and line.rest > 1 then -- in one order: else two claims could wait for each other
        perform from bellhop.share_clock c
          where c.type = any (types) and c.priority = line.priority and (c.place = '' or c.place = any (names))
          order by c.type, c.place for no key update;
      end if;
      best := line.priority;
      here := bellhop.pick_of_line(line.type, line.place, line.priority,
        least(line.most - got[line.n], ceil((total - cardinality(picks))::float8 / line.rest)::integer), msq, only_priorities, only_names, picks);
      picks := picks || here;
      got[line.n] := got[line.n] + cardinality(here);
      exit when cardinality(picks) >= total;
    end loop;
    exit when best is null;
    if cardinality(picks) = before then
      done := best;
    end if;
  end loop;
  return picks;
end
$$;

-- claim_shared: the claim for types with shares, as ../queries/claim_many.sql: its arguments, and those of claim_only.sql. The
-- rows come in the order in which they start. Guard: as in claim.sql, and that of pick_of_line. Indexes: those of
-- pick_shared; the primary key.
-- Grant: scheduler
create or replace function bellhop.claim_shared(
  me bigint, host text, types text[], most integer[], names text[], worst integer[], msq boolean, total integer, assigned boolean,
  rivals text[], placed boolean[], floor bigint, only_names text, only_priorities integer[]
) returns setof bellhop.jobqueue
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  best  integer;
  picks bigint[];
begin
  select array_agg(d.type order by d.n), array_agg(d.most order by d.n), array_agg(d.worst order by d.n), array_agg(d.placed order by d.n)
    into types, most, worst, placed
    from unnest(types, most, worst, placed) with ordinality as d (type, most, worst, placed, n)
   where exists (select from bellhop.instance i where i.id = me and i.state = 'live' and not i.paused && array[d.type, '']);
  if types is null then
    return;
  end if;
  if rivals <> '{}' then
    select min(least((select r.priority from bellhop.startable r where r.type = t.type and r.run_on is null order by r.priority, r.id limit 1),
                     (select l.priority from bellhop.share_line l where l.type = t.type and l.place = '' and not l.idle order by l.priority limit 1)))
      into best
      from unnest(rivals) as t (type);
    worst := array(select least(w.worst, best) from unnest(worst) with ordinality as w (worst, n) order by w.n);
  end if;
  picks := bellhop.pick_shared(types, most, names, worst, placed, msq, total, only_priorities, only_names);
  return query
    with taken as (
      update bellhop.jobqueue j
         set state      = case when assigned then 'assigned' else 'running' end,
             instance   = me,
             host       = claim_shared.host,
             fence      = greatest(j.fence + 1, claim_shared.floor),
             attempt    = j.attempt + 1,
             attempt_at = case when j.started_at is not null then clock_timestamp() end,
             spawned_at = null,
             started_at = coalesce(j.started_at, case when not assigned then clock_timestamp() end),
             waiting_for = case when assigned then 'child_starting' end
       where j.id = any (picks)
      returning j.*
    )
    select t.* from unnest(picks) with ordinality as p (id, n) join taken t on t.id = p.id order by p.n;
end
$$;

-- find_shares: keys that have ready jobs and are not in the line: their rows came while triggers were disabled, or were
-- locked when it was their turn. Looks at up to 100 lines, and the next 200 keys of each. Returns how many keys it found.
-- Index: jobqueue_shared, one probe for each line and key.
-- Grant: scheduler
create or replace function bellhop.find_shares() returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set enable_seqscan = off
as $$
declare
  line  record;
  n     integer;
  found_ integer := 0;
  last_ text;
begin
  if not exists (select from bellhop.jobqueue j where j.share is not null and j.state = 'ready' and not j.held and j.locks is null) then
    return 0;
  end if;
  update bellhop.jobqueue j set share = null -- written past the rule that a share has a letter
   where j.id = any (array(select r.id from bellhop.shareable r where r.share = '' limit 1000 for update skip locked));
  for line in
    with recursive w as (
      (select j.type, coalesce(j.run_on, '') as place, j.priority, 1 as n from bellhop.jobqueue j
        where j.share is not null and j.state = 'ready' and not j.held and j.locks is null
        order by j.type, coalesce(j.run_on, ''), j.priority limit 1)
      union all
      select f.type, f.place, f.priority, w.n + 1
        from w
       cross join lateral (
         select j.type, coalesce(j.run_on, '') as place, j.priority from bellhop.jobqueue j
          where j.share is not null and j.state = 'ready' and not j.held and j.locks is null
            and (j.type, coalesce(j.run_on, ''), j.priority) > (w.type, w.place, w.priority)
          order by j.type, coalesce(j.run_on, ''), j.priority limit 1) f
       where w.n < 100
    )
    select w.type, w.place, w.priority, coalesce(c.looked, '') as looked
      from w left join bellhop.share_clock c on c.type = w.type and c.place = w.place and c.priority = w.priority
  loop
    with recursive k as (
      (select j.share, 1 as n from bellhop.jobqueue j
        where j.share > line.looked and j.state = 'ready' and not j.held and j.locks is null
          and j.type = line.type and coalesce(j.run_on, '') = line.place and j.priority = line.priority
        order by j.share limit 1)
      union all
      select f.share, k.n + 1
        from k
       cross join lateral (
         select j.share from bellhop.jobqueue j
          where j.share > k.share and j.state = 'ready' and not j.held and j.locks is null
            and j.type = line.type and coalesce(j.run_on, '') = line.place and j.priority = line.priority
          order by j.share limit 1) f
       where k.n < 200
    ), lost as (
      insert into bellhop.share_arrival (type, place, priority, share)
      select line.type, line.place, line.priority, k.share from k
       where not exists (select from bellhop.share_line l where l.type = line.type and l.place = line.place and l.priority = line.priority
                            and l.share = k.share and not l.idle)
         and not exists (select from bellhop.share_arrival a where a.type = line.type and a.place = line.place and a.priority = line.priority
                            and a.share = k.share)
      returning 1
    )
    select (select count(*) from lost), case when (select count(*) from k) = 200 then (select max(k.share) from k) else '' end into n, last_;
    found_ := found_ + n;
    if last_ <> line.looked then
      update bellhop.share_clock c set looked = last_ where c.type = line.type and c.place = line.place and c.priority = line.priority;
    end if;
  end loop;
  return found_;
end
$$;

-- share_ahead: how many starts of the type come before a ready job's, as far as the line shows (1,000 keys), and the key
-- whose turn is next. Index: share_line_next; jobqueue_shared, one range for each key.
-- Grant: none
create or replace function bellhop.share_ahead(j bellhop.jobqueue, out starts bigint, out next text)
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  spot  text := coalesce(j.run_on, '');
  mine  record;
  own   bigint;
begin
  select count(*) into own from (
    select from bellhop.jobqueue q
     where j.share is not null and q.share = j.share and q.state = 'ready' and not q.held and q.locks is null
       and q.type = j.type and coalesce(q.run_on, '') = spot and q.priority = j.priority and q.id < j.id limit 10000) x;
  select coalesce(greatest(l.tag, c.now), 0) + own / coalesce(s.weight, 1) as tag,
         case when own > 0 then 1 else coalesce(l.turn, 0) end as turn, coalesce(l.came, 9223372036854775807) as came into mine
    from (select) one
    left join bellhop.share_clock c on c.type = j.type and c.place = spot and c.priority = j.priority
    left join bellhop.share_line l on l.type = j.type and l.place = spot and l.priority = j.priority and l.share = coalesce(j.share, '')
    left join bellhop.share s on s.type = j.type and s.name = j.share;
  select own + coalesce(sum(least(floor((mine.tag - o.tag) * o.weight) + 1, o.ready)), 0), (array_agg(o.share order by o.tag, o.turn, o.came))[1]
    into starts, next
    from (select l.share, l.tag, l.turn, l.came, coalesce(s.weight, 1)::float8 as weight,
                 case when l.share = '' then 1 else
                   (select count(*) from (select from bellhop.jobqueue q
                      where q.share = l.share and q.state = 'ready' and not q.held and q.locks is null
                        and q.type = j.type and coalesce(q.run_on, '') = spot and q.priority = j.priority limit 1000) x) end as ready
            from bellhop.share_line l
            left join bellhop.share s on s.type = l.type and s.name = l.share
           where l.type = j.type and l.place = spot and l.priority = j.priority and not l.idle and l.share <> coalesce(j.share, '')
           order by l.tag, l.turn, l.came limit 1000) o
   where (o.tag, o.turn, o.came) < (mine.tag, mine.turn, mine.came);
end
$$;

-- share_set: a key's weight among the keys of its type.
-- Grant: operator scheduler
create or replace function bellhop.share_set(type text, name text, weight real) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  if share_set.weight not between 0.001 and 1000 or share_set.weight is null then
    raise check_violation using constraint = 'share_weight_bounds', message = format('the weight %s is not a part', share_set.weight),
      hint = 'A weight goes from 0.001 to 1000; keys without one have 1.';
  elsif coalesce(length(share_set.name) not between 1 and 200 or octet_length(share_set.type) not between 1 and 500, true) then
    raise check_violation using constraint = 'share_name_bounds', message = 'a key has 1 to 200 characters, and a type 1 to 500 bytes',
      hint = 'bellhop share ls   shows the keys there are.';
  end if;
  insert into bellhop.share as s (type, name, weight) values (share_set.type, share_set.name, share_set.weight)
  on conflict (type, name) do update set weight = excluded.weight;
  perform bellhop.changed('share set', 'type', share_set.type, format('weight %s of %s', share_set.weight, share_set.name));
end
$$;

-- shares: the keys of a type (NULL: of all) that have a weight, are in the line, or run; at most 1,000 of each kind.
-- waiting: ready jobs, counted up to 10,000 a line; started: starts since the key came into the line. For readers.
-- Indexes: the primary keys; jobqueue_shared; jobqueue_taken.
-- Grant: reader operator scheduler
create or replace function bellhop.shares(type text default null)
returns table (type text, name text, weight real, waiting bigint, running bigint, started bigint)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with w as (
    select s.type, s.name from bellhop.share s where shares.type is null or s.type = shares.type order by s.type, s.name limit 1000
  ), l as materialized (
    select l.* from bellhop.share_line l where l.share <> '' and (shares.type is null or l.type = shares.type)
     order by l.type, l.place, l.priority, l.share limit 1000
  ), c as (
    select l.type, l.share as name, sum(l.started) as started,
           sum((select count(*) from (select from bellhop.jobqueue j
                 where j.share = l.share and j.state = 'ready' and not j.held and j.locks is null
                   and j.type = l.type and coalesce(j.run_on, '') = l.place and j.priority = l.priority limit 10000) x)) as waiting
      from l group by l.type, l.share
  ), r as (
    select j.type, j.share as name, count(*) as running from bellhop.jobqueue j
     where j.state in ('assigned', 'running') and j.share is not null and (shares.type is null or j.type = shares.type)
     group by j.type, j.share limit 1000
  )
  select k.type, k.name, coalesce(s.weight, 1), coalesce(c.waiting, 0)::bigint, coalesce(r.running, 0), coalesce(c.started, 0)::bigint
    from (select * from w union select c.type, c.name from c union select r.type, r.name from r) k
    left join bellhop.share s on s.type = k.type and s.name = k.name
    left join c on c.type = k.type and c.name = k.name
    left join r on r.type = k.type and r.name = k.name
   where bellhop.is_reader()
   order by k.type, k.name
$$;
