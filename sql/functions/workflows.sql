-- Workflows: definitions. Only operators may change them. Each change is a version, and kept.

-- Grant: reader operator scheduler
create or replace function bellhop.sensor_kind(definition jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when coalesce(jsonb_typeof(definition -> 'sensor'), 'null') = 'null' then null
              when definition -> 'sensor' ? 'cron' then 'cron'
              when definition -> 'sensor' ? 'every' then 'every'
              when definition -> 'sensor' ? 'workflow' then 'workflow'
              when definition -> 'sensor' ? 'table' then 'table'
              when definition -> 'sensor' ? 'notify' then 'notify'
              when definition -> 'sensor' ? 'http' then 'http'
              when definition -> 'sensor' ? 'file' then 'file'
              when definition -> 'sensor' ? 'kafka' then 'kafka'
              else 'unknown' end
$$;

-- sensor_queue: how events wait that come while runs of their workflow are open: `all` of them wait their turn, or
-- `one`. The sensor decides; by default it is all if the event fills a parameter (one of the workflow, or ${EVENT}):
-- that is separate work. A slot of the clock brings no values, and the next one replaces it.
-- Grant: scheduler
create or replace function bellhop.sensor_queue(definition jsonb, given jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(definition -> 'sensor' ->> 'queue', case
    when bellhop.sensor_kind(definition) in ('cron', 'every') then 'one'
    when given <> '{}' or (definition -> 'steps')::text ~ '(^|[^$])[$][{]EVENT[}]' then 'all'
    else 'one' end)
$$;

-- sensor_room: how many runs may be queued when an event comes. The same number as MostQueued of scheduler/workflow.
-- Grant: scheduler
create or replace function bellhop.sensor_room(definition jsonb, given jsonb) returns integer
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case bellhop.sensor_queue(definition, given) when 'all' then 1000 else 1 end
$$;

-- sensor_of: the kind of a workflow's sensor, also of an inactive one, for readers that do not see its definition.
-- Index: the primary key.
-- Grant: reader operator scheduler
create or replace function bellhop.sensor_of(called text) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select bellhop.sensor_kind(w.definition) from bellhop.workflow w where w.name = called and bellhop.is_reader()
$$;

-- schedule_of: when the clock starts a workflow, for readers that do not see its definition: `every 20s`, or the line of
-- cron, ` in ` and its zone. NULL: the clock does not start it. Index: the primary key.
-- Grant: reader operator scheduler
create or replace function bellhop.schedule_of(called text) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select coalesce('every ' || (s ->> 'every'), (s ->> 'cron') || ' in ' || coalesce(s ->> 'zone', 'UTC'))
    from (select w.definition -> 'sensor' as s from bellhop.workflow w where w.name = called and bellhop.is_reader()) d
$$;

-- unserved: the types of a definition's steps for which no running instance has an agent, in the words of
-- bellhop.causes. No row if no instance runs: the agents of a later one are unknown. Indexes: instance_live, agent's
-- primary key.
-- Grant: operator scheduler
create or replace function bellhop.unserved(definition jsonb) returns table (code text, sentence text, next text)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with live as materialized (
    select distinct a.type from bellhop.instance i left join bellhop.agent a on a.instance = i.id where i.state = 'live'
  )
  select r.* from (
    select s ->> 'type' as type, min(n) as n, case when count(*) = 1 then 'Step ' else 'Steps ' end || array_to_string((array_agg(s ->> 'name' order by n))[1:20], ', ')
             || case when count(*) = 1 then ' is' else ' are' end as steps
      from jsonb_array_elements(definition -> 'steps') with ordinality x (s, n) group by 1
  ) t cross join lateral bellhop.reason('unknown_type/step', jsonb_build_object('type', quote_literal(t.type), 'steps', t.steps, 'there', bellhop.types_there(t.type))) r
   where exists (select from live) and not exists (select from live l where l.type = t.type)
   order by t.n
$$;

-- refuse_but_operators: raises an error if the caller is not an operator and does not schedule.
-- Grant: scheduler
create or replace function bellhop.refuse_but_operators(verb text) returns void
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if not (bellhop.is_operator() or pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.workflow'::regclass, 'update')) then
    raise insufficient_privilege using
      message = format('permission denied: %s may not %s', bellhop.caller(), verb),
      hint = format('That is for operators: grant bellhop_operator to %I.', bellhop.caller());
  end if;
end
$$;

-- workflow_write: a new version of a workflow; if it exists, the caller has locked its row. The sensor begins again if
-- it has changed.
-- Grant: scheduler
create or replace function bellhop.workflow_write(name text, definition jsonb, active boolean, what text) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  v integer := 1 + coalesce((select max(p.version) from bellhop.workflow_past p where p.workflow = workflow_write.name), 0);
  o bellhop.workflow;
  k text := bellhop.sensor_kind(workflow_write.definition);
  s jsonb := case when what <> 'deleted' then workflow_write.definition -> 'sensor' end;
  allowed jsonb; -- the sensor at the last time it was active: its caller was allowed to watch that table
begin
  select * into o from bellhop.workflow w where w.name = workflow_write.name;
  select case when p.what <> 'deleted' then p.definition -> 'sensor' end into allowed
    from bellhop.workflow_past p where p.workflow = workflow_write.name and (p.active or p.what = 'deleted') order by p.version desc limit 1;
  if what = 'deleted' then
    delete from bellhop.workflow w where w.name = workflow_write.name;
  else
    insert into bellhop.workflow as w (name, project, active, version, definition, changed_by)
    values (workflow_write.name, coalesce(definition ->> 'project', ''), active, v, definition, bellhop.actor())
    on conflict (name) do update
       set project = excluded.project, active = excluded.active, version = excluded.version, definition = excluded.definition,
           changed_at = clock_timestamp(), changed_by = excluded.changed_by;
  end if;
  insert into bellhop.workflow_past (workflow, version, what, active, definition, changed_by)
  values (workflow_write.name, v, what, active, definition, bellhop.actor());
  perform bellhop.changed(case what when 'activated' then 'activate' when 'deactivated' then 'deactivate' when 'deleted' then 'delete' else 'apply' end,
                          'workflow', workflow_write.name, format('version %s, %s', v, what));
  if what = 'deleted' or not active or k is null then
    delete from bellhop.sensor s where s.workflow = workflow_write.name;
  elsif not coalesce(o.active, false) or o.definition -> 'sensor' is distinct from definition -> 'sensor' then
    insert into bellhop.sensor (workflow, kind, source, next_fire)
    values (workflow_write.name, k, definition -> 'sensor' ->> 'workflow', case when k in ('cron', 'every') then '-infinity'::timestamptz end)
    on conflict (workflow) do update
       set kind = excluded.kind, source = excluded.source, next_fire = excluded.next_fire, problem = null, since = null, recent = '{}',
           lag = null, held = null;
  end if;
  -- Asks for the table, and for the right to watch it, only when its rows become events by this change. A table that is
  -- gone, or belongs to another role, keeps no caller from stopping a workflow, or from changing its steps.
  if s ? 'table' and active and (s is distinct from allowed or not o.active and not bellhop.table_watched(workflow_write.name, s)) then
    perform bellhop.watch_table(workflow_write.name, o.definition -> 'sensor', s);
  elsif o.definition -> 'sensor' ? 'table' and s is distinct from o.definition -> 'sensor' then
    perform bellhop.watch_table(workflow_write.name, o.definition -> 'sensor', null);
  end if;
  if o.active and not active and what <> 'deleted' then
    perform bellhop.runs_wait(workflow_write.name);
  elsif not o.active and active and what <> 'deleted' then
    perform bellhop.runs_go_on(workflow_write.name);
  end if;
  if what = 'deleted' then -- no other code would delete these
    delete from bellhop.sensor_place p where p.workflow = workflow_write.name;
    delete from bellhop.event e where e.workflow = workflow_write.name and e.run is null;
  end if;
  perform pg_notify('bellhop_due', '');
  return v;
end
$$;

-- refuse_like_named: raises an error if a workflow's name differs only by the case of letters, which does not count in
-- patterns.
-- Grant: none
create or replace function bellhop.refuse_like_named(called text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  other text;
begin
  select w.name into other from bellhop.workflow w where lower(w.name) = lower(called) and w.name <> called limit 1;
  if found then
    raise unique_violation using message = format('there is a workflow %s already, and names have to differ by more than the case of letters', other),
      hint = format('bellhop workflow show %s', other);
  end if;
end
$$;

-- refuse_rings: raises an error if a workflow that waits for another would start itself, through any number of others,
-- active or not.
-- Index: workflow's primary key.
-- Grant: none
create or replace function bellhop.refuse_rings(called text, source text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  way text[] := array[called];
begin
  while source is not null and source <> called and source <> all (way) loop
    way := way || source;
    select w.definition -> 'sensor' ->> 'workflow' into source from bellhop.workflow w where w.name = source;
  end loop;
  if source = called then
    way := way || called;
    if cardinality(way) > 21 then
      way := way[1:20] || format('… (%s in all)', cardinality(way) - 1) || called;
    end if;
    raise check_violation using message = 'these workflows would start each other for ever: ' || array_to_string(way, ' after '),
      hint = 'Have one of them start by something else; every: with after_finish: true starts a workflow again after its end.';
  end if;
end
$$;

-- without_last_breaks: a definition whose steps' args lack the line break that YAML puts behind a text of `|`.
-- Grant: none
create or replace function bellhop.without_last_breaks(definition jsonb) returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(definition) = 'object' and jsonb_typeof(definition -> 'steps') = 'array' and definition @? e'$.steps[*].args ? (@ like_regex "[\\n\\r]$")' then
    jsonb_set(definition, '{steps}', (select jsonb_agg(case when jsonb_typeof(s) = 'object' and jsonb_typeof(s -> 'args') = 'string'
                                                            then s || jsonb_build_object('args', regexp_replace(s ->> 'args', e'\\r?\\n$', '')) else s end order by n)
                                        from jsonb_array_elements(definition -> 'steps') with ordinality x (s, n))) else definition end
$$;

-- workflow_apply: creates or changes a workflow. With a version: only if that is the present one (0: there is none).
-- Returns the version that it has now, which stays the same if nothing has changed.
-- Grant: operator scheduler
create or replace function bellhop.workflow_apply(definition jsonb, version integer default null) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  given  jsonb := bellhop.without_last_breaks(workflow_apply.definition); -- as files are read
  faults text[] := bellhop.workflow_faults(given);
  called text;
  kept   jsonb;
  live   boolean;
  o      bellhop.workflow;
  r      record;
begin
  perform bellhop.refuse_but_operators('change workflows');
  if faults <> '{}' then
    raise check_violation using
      message = 'this is not a valid definition of a workflow: ' || array_to_string(faults[1:20], e'\n')
        || case when cardinality(faults) > 20 then format(e'\n… and %s more', cardinality(faults) - 20) else '' end,
      hint = 'Mend that: nothing was changed. docs/workflows.md has what stands in one; bellhop workflow apply FILE   says line and column.';
  end if;
  called := given ->> 'workflow';
  kept := jsonb_strip_nulls(given) - 'workflow' - 'active'; -- a key without a value is as if it was not there
  live := coalesce((workflow_apply.definition ->> 'active')::boolean, true);
  for r in select u.sentence, u.next from bellhop.unserved(kept) u loop
    raise warning using message = r.sentence, hint = r.next;
  end loop;
  -- One at a time, whatever their names: each is compared with all others, and two at once would not see each other.
  perform pg_advisory_xact_lock(hashtextextended('bellhop.workflow', 0));
  select * into o from bellhop.workflow w where w.name = called for update;
  if workflow_apply.version is not null and workflow_apply.version <> coalesce(o.version, 0) then
    raise object_not_in_prerequisite_state using
      message = case when o.name is null then format('there is no workflow %s', called)
                     else format('workflow %s has version %s, not %s: %s changed it at %s', called, o.version, workflow_apply.version,
                                 o.changed_by, bellhop.clock(o.changed_at)) end,
      hint = format('Look at what was changed: bellhop workflow history %s', called);
  elsif o.definition = kept and o.active = live then
    return o.version;
  end if;
  if o.name is null then
    perform bellhop.refuse_like_named(called);
  end if;
  perform bellhop.refuse_rings(called, kept -> 'sensor' ->> 'workflow');
  return bellhop.workflow_write(called, kept, live, case when o.name is null then 'created' when o.definition <> kept then 'changed'
                                                         when live then 'activated' else 'deactivated' end);
end
$$;

-- workflow_change: activates, deactivates or deletes a workflow. Returns whether that changed anything; NULL if there
-- is no such workflow.
-- Grant: operator scheduler
create or replace function bellhop.workflow_change(name text, what text, version integer default null) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  o bellhop.workflow;
begin
  perform bellhop.refuse_but_operators('change workflows');
  select * into o from bellhop.workflow w where w.name = workflow_change.name for update;
  if not found then
    return null;
  elsif workflow_change.version is not null and workflow_change.version <> o.version then
    raise object_not_in_prerequisite_state using
      message = format('workflow %s has version %s, not %s', o.name, o.version, workflow_change.version),
      hint = format('Look at what was changed: bellhop workflow history %s', o.name);
  elsif what not in ('activated', 'deactivated', 'deleted') then
    raise invalid_parameter_value using message = format('a workflow cannot be %L', what), hint = 'activated, deactivated or deleted';
  elsif what = 'deleted' and exists (select from bellhop.run r where r.workflow = o.name and r.state in ('queued', 'running')) then
    raise object_not_in_prerequisite_state using
      message = format('workflow %s has a run that is not over', o.name),
      hint = format('Deactivate it, and wait until that is over, or cancel its steps: bellhop workflow show %s', o.name);
  elsif what <> 'deleted' and o.active = (what = 'activated') then
    return false;
  end if;
  perform bellhop.workflow_write(o.name, o.definition, case what when 'activated' then true when 'deactivated' then false else o.active end, what);
  return true;
end
$$;
