-- An older one, which knew no instances, and which no instance calls any more.

-- Sensors: how the clock and events start workflows. An instance works out the times of slots (scheduler/workflow).
-- These functions make each slot one run, whatever instances do: a slot is an event, whose name is unique, and one
-- transaction writes the event, its run and the time of the next slot.

-- starts_workflows: whether the sensors of an instance are not stopped (bellhop.manager).
-- Grant: reader operator scheduler
create or replace function bellhop.starts_workflows(instance bigint) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from bellhop.instance i where i.id = instance and i.state = 'live'
                    and not exists (select from bellhop.manager_stop m where m.name in ('', i.name)))
$$;

-- sees: whether an instance with this name and these watches sees what a sensor waits for.
-- Grant: scheduler
create or replace function bellhop.sees(watches jsonb, called text, sensor jsonb) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when sensor ? 'notify' then coalesce(watches ? 'notify', false)
    when sensor ? 'kafka' then coalesce(watches -> 'kafka' ? (sensor ->> 'kafka'), false)
    when sensor ? 'file' then coalesce(sensor ->> 'host', called) = called
      and exists (select from jsonb_array_elements_text(coalesce(watches -> 'files', '[]')) r
                   where starts_with(sensor ->> 'file', rtrim(r, '/') || '/'))
    else true end
$$;

-- able: the instances that may have a workflow, if these are not all that start workflows; NULL: all may.
-- Grant: scheduler
create or replace function bellhop.able(sensor jsonb) returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when bool_and(x.sees) then null else coalesce(array_agg(x.id order by x.id) filter (where x.sees), '{}') end
    from (select i.id, bellhop.sees(i.watches, i.name, sensor) as sees from bellhop.instance i
           where i.state = 'live' and bellhop.starts_workflows(i.id)) x
$$;

-- unassigned: whether scheduler.Assign would give some active workflow to another instance. Indexes: workflow_instance, sensor_watched.
-- Grant: scheduler
create or replace function bellhop.unassigned() returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with w as materialized (
    select x.instance, count(*) as n from bellhop.workflow x where x.active group by x.instance
  ), i as materialized (
    select y.id, coalesce(w.n, 0) as n from bellhop.instance y left join w on w.instance = y.id
     where y.state = 'live' and bellhop.starts_workflows(y.id)
  ), p as materialized ( -- those that not all instances see
    select y.workflow, x.instance, a.able
      from bellhop.sensor y join bellhop.workflow x on x.name = y.workflow cross join lateral bellhop.able(x.definition -> 'sensor') a (able)
     where y.kind in ('notify', 'file', 'kafka') and x.active and a.able is not null
  )
  select exists (select from i) and (
         exists (select from w where w.instance is not null and not exists (select from i where i.id = w.instance))
      or exists (select from w where w.instance is null and w.n > (select count(*) from p where p.instance is null and p.able = '{}'))
      or exists (select from p where p.instance is not null and not p.instance = any (p.able))
      or exists (select from i where i.n > (select min(m.n) from i m) + 1
                    and exists (select from bellhop.workflow x
                                 where x.active and x.instance = i.id
                                   and not exists (select from p where p.workflow = x.name)
                                   and not exists (select from bellhop.run r where r.workflow = x.name and r.state in ('queued', 'running')))))
$$;

-- sensors_next: in how many ms this instance has to look; 0: now; NULL: never. Sensors of other instances are its, too,
-- once they are 2 s late: their owner may be gone. Of its own, only those count that come before the first of all:
-- there it looks anyhow.
-- Indexes: workflow_instance, event_open, sensor_next, run_open.
-- Grant: scheduler
create or replace function bellhop.sensors_next(instance bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  late timestamptz; -- when the first of all is late
  own  timestamptz;
begin
  if not exists (select from bellhop.workflow w where w.active) and not exists (select from bellhop.event e where e.run is null)
     or not bellhop.starts_workflows(sensors_next.instance) then
    return null;
  elsif bellhop.unassigned() or exists (select from bellhop.event e where e.run is null)
     or exists (select from bellhop.sensor s where s.kind = 'every' and s.next_fire = 'infinity'
                   and not exists (select from bellhop.run r where r.workflow = s.workflow and r.state in ('queued', 'running'))) then
    return 0;
  end if;
  select case s.next_fire when '-infinity' then clock_timestamp() else s.next_fire end + interval '2 s' into late
    from bellhop.sensor s where s.next_fire < 'infinity' order by s.next_fire limit 1;
  if not found then
    return null;
  end if;
  select s.next_fire into own
    from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
   where s.next_fire < 'infinity' and s.next_fire < late and w.instance = sensors_next.instance
   order by s.next_fire limit 1;
  if own = '-infinity' then
    return 0;
  end if;
  return greatest(0, ceil(extract(epoch from least(own, late) - clock_timestamp()) * 1000));
end
$$;

-- sensors_begin: sensors that wait for the end of a run are looked at if no run is open (any more).
-- Grant: scheduler
create or replace function bellhop.sensors_begin() returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  update bellhop.sensor s set next_fire = '-infinity'
   where s.workflow = any (array(
     select y.workflow from bellhop.sensor y
      where y.kind = 'every' and y.next_fire = 'infinity'
        and not exists (select from bellhop.run r where r.workflow = y.workflow and r.state in ('queued', 'running'))
        for update skip locked))
$$;

-- An older one, which knew of one queued run only.

-- make_run_or_say: with safely, a run that cannot be made is recorded as failed, with the reason. The first try does
-- without: jobs that come in a subtransaction cost more.
-- Grant: scheduler
create or replace function bellhop.make_run_or_say(w bellhop.workflow, event text, slot timestamptz, given jsonb, room integer, safely boolean) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  r     bigint;
  who   text := 'sensor ' || coalesce(bellhop.sensor_kind(w.definition), 'event');
  state text;
  why   text;
begin
  if not safely then
    r := bellhop.make_run(w, event, slot, who, given, room);
    update bellhop.sensor s set problem = null, since = null where s.workflow = w.name and s.problem like 'no run could be made: %';
    return r;
  end if;
  begin
    return bellhop.make_run_or_say(w, event, slot, given, room, false);
  exception when others then
    get stacked diagnostics state = returned_sqlstate, why = message_text;
    if state in ('40001', '40P01', '55P03') then -- it may work at another time
      raise;
    end if;
  end;
  insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, started_at, ended_at, reason)
  values (w.name, w.version, event, who, 'running', given, clock_timestamp(), null, null)
  returning id into r;
  perform bellhop.run_ended(r, 'failed', left('its jobs cannot be made: ' || why, 2000));
  update bellhop.sensor s set problem = left('no run could be made: ' || why, 2000), since = clock_timestamp() where s.workflow = w.name;
  return r;
end
$$;

-- An older one, which held nothing, and which no instance calls any more.

-- fire: makes runs of these slots of a workflow, whose row the caller has locked, except those that are events already.
-- Its sensor keeps the next slot (NULL: there is none), or when it may fire again, and the first slot that is held
-- until then. Returns how many runs there are, skipped ones among them.
-- Grant: scheduler
create or replace function bellhop.fire(called text, events text[], slots timestamptz[], caught boolean[], next timestamptz, safely boolean,
                                        held timestamptz default null) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  w     bellhop.workflow;
  f     record;
  fired integer := 0;
begin
  select * into w from bellhop.workflow x where x.name = called and x.active;
  update bellhop.sensor s
     set next_fire = next, held = fire.held, fired_at = case when events <> '{}' then clock_timestamp() else s.fired_at end,
         problem = case when events = '{}' then s.problem end, since = case when events = '{}' then s.since end
   where s.workflow = called;
  for f in select e.event, e.slot, e.caught from unnest(events, slots, caught) with ordinality as e (event, slot, caught, n) order by e.n loop
    insert into bellhop.event (workflow, event, slot) values (called, f.event, f.slot) on conflict do nothing;
    if found then
      update bellhop.event e set run = bellhop.make_run_or_say(w, f.event, f.slot, '{}', case when not f.caught then bellhop.sensor_room(w.definition, '{}') end, safely)
       where e.workflow = called and e.event = f.event;
      fired := fired + 1;
    end if;
  end loop;
  return fired;
end
$$;

-- run_of_event: makes a run of an event, or a skipped run, if the sensor has started its workflow so often of late that
-- it may not now. That holds for events that are told to it; a sensor of the clock waits instead (scheduler/workflow).
-- Grant: scheduler
create or replace function bellhop.run_of_event(w bellhop.workflow, event text, at timestamptz, given jsonb, safely boolean) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  most   integer := coalesce((w.definition -> 'sensor' ->> 'at_most')::integer, 0);
  called text := bellhop.sensor_kind(w.definition);
  room   integer := bellhop.sensor_room(w.definition, given);
  starts timestamptz[];
  r      bigint;
  why    text;
begin
  if most = 0 or called in ('cron', 'every') then
    return bellhop.make_run_or_say(w, event, at, given, room, safely);
  end if;
  select s.recent into starts from bellhop.sensor s where s.workflow = w.name;
  if starts[most] > clock_timestamp() - (w.definition -> 'sensor' ->> 'per')::interval then
    insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, ended_at, reason)
    values (w.name, w.version, event, 'sensor ' || called, 'skipped', given, clock_timestamp(),
            format('its sensor has started it %s times in the last %s', most, w.definition -> 'sensor' ->> 'per'))
    returning id, reason into r, why;
    perform bellhop.end_told(r, w.name, 'skipped', why);
    return r;
  end if;
  r := bellhop.make_run_or_say(w, event, at, given, room, safely);
  update bellhop.sensor s set recent = (array[clock_timestamp()] || s.recent)[1:most]
   where s.workflow = w.name and not exists (select from bellhop.run x where x.id = r and x.state = 'skipped');
  return r;
end
$$;

-- take_events: makes runs of events that have none, at most this many. Events wait while another transaction has locked
-- their workflow. Returns how many. Index: event_open.
-- Grant: scheduler
create or replace function bellhop.take_events(most integer, safely boolean) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  e record;
  n integer := 0;
begin
  for e in
    select v.workflow, v.event, v.at, v.parameters, w as whole
      from bellhop.event v join bellhop.workflow w on w.name = v.workflow
     where v.run is null
     order by v.at limit most
       for update of v, w skip locked
  loop
    update bellhop.event v set run = bellhop.run_of_event(e.whole, e.event, e.at, e.parameters, safely)
     where v.workflow = e.workflow and v.event = e.event;
    update bellhop.sensor s set fired_at = clock_timestamp() where s.workflow = e.workflow;
    n := n + 1;
  end loop;
  -- Events that came just as their workflow was deleted: no instance would ever make a run of them, and each would look
  -- for them.
  delete from bellhop.event v where v.run is null and not exists (select from bellhop.workflow w where w.name = v.workflow);
  return n;
end
$$;
