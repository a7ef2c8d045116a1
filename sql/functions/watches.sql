-- Watches: sensors whose events come from outside the queue. An instance records here the events that it sees, and only
-- for workflows that are its own: an instance that was taken for dead, and comes back, records nothing more.
-- bellhop.take_events handles the events.

-- sensor_parameters: the values of an event for which the workflow has parameters, of the same name, or of that name in
-- capitals.
-- Grant: scheduler
create or replace function bellhop.sensor_parameters(definition jsonb, given jsonb) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(case when definition -> 'parameters' ? g.key then g.key else upper(g.key) end, g.value), '{}')
    from jsonb_each_text(case when jsonb_typeof(given) = 'object' then given else '{}' end) g
   where g.value is not null and (definition -> 'parameters' ? g.key or definition -> 'parameters' ? upper(g.key))
$$;

-- watched: a number that changes when an instance has other sensors to watch, or has become another instance: the
-- events that it has recorded under another id are not its own. NULL: it has no sensors. Index: sensor_watched.
-- Grant: scheduler
create or replace function bellhop.watched(instance bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select bit_xor(hashtextextended(w.name || ' ' || w.instance, w.version))
            from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
           where s.kind in ('notify', 'file', 'kafka') and w.active and w.instance = watched.instance);
end
$$;

-- An older one, which knew of no place.

-- sensor_events: records events that an instance has seen (NULL: the event has no name and gets one), with the values
-- of each. place: where the sensor stands in its source then. remark: what users should know about it, '' to clear it,
-- NULL: as it was. Returns how many events are new; NULL: the workflow is not the instance's own.
-- Grant: scheduler
create or replace function bellhop.sensor_events(instance bigint, called text, events text[], given jsonb[], place jsonb default null,
                                                 remark text default null) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  d jsonb;
  k text;
  n integer;
begin
  select w.definition into d from bellhop.workflow w
   where w.name = called and w.active and w.instance = sensor_events.instance
     and exists (select from bellhop.instance i where i.id = sensor_events.instance and i.state = 'live')
     for share;
  if not found then
    return null;
  end if;
  k := bellhop.sensor_kind(d);
  insert into bellhop.event (workflow, event, parameters)
  select called, coalesce(e.event, k || ':' || nextval('bellhop.event_number')), bellhop.sensor_parameters(d, e.given)
    from unnest(events, sensor_events.given) with ordinality e (event, given, n) order by e.n
  on conflict do nothing;
  get diagnostics n = row_count;
  if sensor_events.place is not null or sensor_events.remark is not null then
    insert into bellhop.sensor_place as p (workflow, place, remark, remarked_at)
    values (called, sensor_events.place, nullif(left(sensor_events.remark, 2000), ''), clock_timestamp())
    on conflict (workflow) do update
       set place = coalesce(excluded.place, p.place), remark = case when sensor_events.remark is null then p.remark else excluded.remark end,
           remarked_at = case when sensor_events.remark is null then p.remarked_at else excluded.remarked_at end;
  end if;
  if n > 0 then
    perform pg_notify('bellhop_due', '');
  end if;
  return n;
end
$$;

-- sensor_lag: how many messages a sensor has not read yet.
-- Grant: scheduler
create or replace function bellhop.sensor_lag(instance bigint, called text, lag bigint) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  update bellhop.sensor s
     set lag = sensor_lag.lag
    from bellhop.workflow w
   where s.workflow = called and w.name = called and w.instance = sensor_lag.instance and s.kind = 'kafka' and s.lag is distinct from sensor_lag.lag
$$;

-- sensor_failing: why a sensor sees nothing, and so cannot tell how far it is behind; NULL: it sees again.
-- Grant: scheduler
create or replace function bellhop.sensor_failing(instance bigint, called text, why text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  update bellhop.sensor s
     set problem = left(why, 2000), since = case when why is not null then coalesce(s.since, clock_timestamp()) end,
         lag = case when why is null then s.lag end
    from bellhop.workflow w
   where s.workflow = called and w.name = called and w.instance = sensor_failing.instance and s.problem is distinct from left(why, 2000)
$$;

-- workflow_http: a request starts a workflow whose sensor is http: true, once for each name of an event (NULL: each
-- time). Returns whether the event is new; NULL: there is no such workflow, or it is not active.
-- Grant: submitter operator scheduler
create or replace function bellhop.workflow_http(name text, event text default null, payload jsonb default '{}') returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  d jsonb;
begin
  select w.definition into d from bellhop.workflow w where w.name = workflow_http.name and w.active;
  if not found then
    return null;
  elsif bellhop.sensor_kind(d) is distinct from 'http' then
    raise object_not_in_prerequisite_state using message = format('workflow %s is not started by requests', workflow_http.name),
      hint = 'It is where its definition says: sensor: {http: true}';
  elsif jsonb_typeof(workflow_http.payload) is distinct from 'object' then
    raise invalid_parameter_value using message = 'the body is not a JSON object', hint = 'as in {"day": "2026-11-01"}, or {}';
  elsif workflow_http.event = '' or length(workflow_http.event) > 190 then
    raise invalid_parameter_value using message = 'the name of an event has 1 to 190 letters', hint = 'Leave it out where requests are not repeated.';
  end if;
  return bellhop.happened(workflow_http.name, 'http' || coalesce('=' || workflow_http.event, ':' || nextval('bellhop.event_number')),
                                bellhop.sensor_parameters(d, workflow_http.payload));
end
$$;

-- event_header: the header of a request that names the event for a workflow; NULL: no request starts it.
-- Grant: submitter operator scheduler
create or replace function bellhop.event_header(name text) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select coalesce(w.definition -> 'sensor' ->> 'event', 'Idempotency-Key')
    from bellhop.workflow w where w.name = event_header.name and w.active and w.definition @> '{"sensor": {"http": true}}'
$$;
