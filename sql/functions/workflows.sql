-- Workflows: definitions. Who may change them: operators. Each change is a version, and kept.

-- workflow_faults: what cannot be in a definition. The program finds more, with line and column (scheduler/workflow); this is what
-- runs rely on. Steps stand behind those that they need, so that none can wait for itself by way of others.
create or replace function bellhop.workflow_faults(definition jsonb) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  faults text[] := '{}';
  s      jsonb;
  n      integer;
begin
  if jsonb_typeof(definition) is distinct from 'object' then
    return array['a definition is a JSON object with "workflow" and "steps"'];
  elsif coalesce(definition ->> 'workflow', '') !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' then
    faults := array_append(faults, 'workflow: a name of letters, digits, . _ and -, 100 at the most');
  end if;
  if coalesce(jsonb_typeof(definition -> 'active'), 'boolean') <> 'boolean' then
    faults := array_append(faults, 'active is neither true nor false');
  end if;
  if coalesce(jsonb_typeof(definition -> 'sensor'), 'object') not in ('object', 'null') then
    faults := array_append(faults, 'sensor is no object');
  elsif bellhop.sensor_kind(definition) = 'unknown' then
    faults := array_append(faults, 'sensor has none of cron, every and workflow');
  end if;
  if coalesce(jsonb_typeof(definition -> 'parameters'), 'object') <> 'object'
     or jsonb_path_exists(definition, 'strict $.parameters.* ? (@.type() != "string")', silent => true) then
    faults := array_append(faults, 'parameters is no object of strings');
  end if;
  if jsonb_typeof(definition -> 'steps') is distinct from 'array' or definition -> 'steps' = '[]' then
    return array_append(faults, 'steps is no list with a step in it');
  end if;
  for s, n in select x, o from jsonb_array_elements(definition -> 'steps') with ordinality y (x, o) loop
    if jsonb_typeof(s) <> 'object' or coalesce(s ->> 'name', '') !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' or coalesce(s ->> 'type', '') = '' then
      faults := array_append(faults, format('the %s. step has no name and type: %s', n, left(s::text, 100)));
      continue;
    end if;
    if s ->> 'type' in ('command', 'dummy') then
      faults := array_append(faults, format('step %s is of type %s, which no agent runs', s ->> 'name', s ->> 'type'));
    end if;
    if coalesce(jsonb_typeof(s -> 'after'), 'array') <> 'array' then
      faults := array_append(faults, format('step %s: after is no list', s ->> 'name'));
    end if;
    if coalesce(s ->> 'on_failure', 'fail') not in ('fail', 'run') then
      faults := array_append(faults, format('step %s: on_failure is neither fail nor run', s ->> 'name'));
    end if;
  end loop;
  -- All at once, and not step by step: there may be 10,000.
  return faults || array(
    with step as materialized (
      select x ->> 'name' as name, case when jsonb_typeof(x -> 'after') = 'array' then x -> 'after' else '[]' end as after, o from jsonb_array_elements(definition -> 'steps') with ordinality y (x, o)
    ), first as materialized (
      select t.name, min(t.o) as o, count(*) as many from step t group by t.name
    )
    select format('there are two steps %s', f.name) from first f where f.many > 1
    union all
    select format('step %s comes after %s, and no step of that name stands before it', t.name, a.name)
      from step t cross join lateral jsonb_array_elements_text(t.after) a (name)
      left join first f on f.name = a.name
     where f.o is null or f.o >= t.o);
end
$$;

create or replace function bellhop.sensor_kind(definition jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when coalesce(jsonb_typeof(definition -> 'sensor'), 'null') = 'null' then null
              when definition -> 'sensor' ? 'cron' then 'cron'
              when definition -> 'sensor' ? 'every' then 'every'
              when definition -> 'sensor' ? 'workflow' then 'workflow'
              else 'unknown' end
$$;

-- refuse_but_operators: an error where who asks is none, and does not schedule.
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

-- workflow_write: a new version, whose row the caller has locked if it is there. The sensor begins anew where it is another one.
create or replace function bellhop.workflow_write(name text, definition jsonb, active boolean, what text) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  v integer := 1 + coalesce((select max(p.version) from bellhop.workflow_past p where p.workflow = workflow_write.name), 0);
  o bellhop.workflow;
  k text := bellhop.sensor_kind(workflow_write.definition);
begin
  select * into o from bellhop.workflow w where w.name = workflow_write.name;
  if what = 'deleted' then
    delete from bellhop.workflow w where w.name = workflow_write.name;
  else
    insert into bellhop.workflow as w (name, project, active, version, definition, changed_by)
    values (workflow_write.name, coalesce(definition ->> 'project', ''), active, v, definition, bellhop.caller())
    on conflict (name) do update
       set project = excluded.project, active = excluded.active, version = excluded.version, definition = excluded.definition,
           changed_at = clock_timestamp(), changed_by = excluded.changed_by;
  end if;
  insert into bellhop.workflow_past (workflow, version, what, active, definition, changed_by)
  values (workflow_write.name, v, what, active, definition, bellhop.caller());
  if what = 'deleted' or not active or k is null then
    delete from bellhop.sensor s where s.workflow = workflow_write.name;
  elsif not coalesce(o.active, false) or o.definition -> 'sensor' is distinct from definition -> 'sensor' then
    insert into bellhop.sensor (workflow, kind, source, next_fire)
    values (workflow_write.name, k, definition -> 'sensor' ->> 'workflow', case when k in ('cron', 'every') then '-infinity'::timestamptz end)
    on conflict (workflow) do update
       set kind = excluded.kind, source = excluded.source, next_fire = excluded.next_fire, problem = null, since = null;
  end if;
  if what = 'deleted' then -- nobody would ever see to them
    delete from bellhop.event e where e.workflow = workflow_write.name and e.run is null;
  end if;
  perform pg_notify('bellhop_due', '');
  return v;
end
$$;

-- workflow_apply: creates or changes a workflow. With a version: only where that is the present one (0: there is none).
-- Returns the version it has now, which stays the same where nothing is changed.
create or replace function bellhop.workflow_apply(definition jsonb, version integer default null) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  faults text[] := bellhop.workflow_faults(workflow_apply.definition);
  called text := workflow_apply.definition ->> 'workflow';
  kept   jsonb := workflow_apply.definition - 'workflow' - 'active';
  live   boolean := coalesce((workflow_apply.definition ->> 'active')::boolean, true);
  o      bellhop.workflow;
begin
  perform bellhop.refuse_but_operators('change workflows');
  if faults <> '{}' then
    raise check_violation using message = 'this is no definition of a workflow: ' || array_to_string(faults, '; '),
      hint = 'bellhop workflow apply FILE   says where.';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('bellhop.workflow ' || called, 0)); -- of one that is not there yet, too
  select * into o from bellhop.workflow w where w.name = called for update;
  if workflow_apply.version is not null and workflow_apply.version <> coalesce(o.version, 0) then
    raise object_not_in_prerequisite_state using
      message = case when o.name is null then format('there is no workflow %s', called)
                     else format('workflow %s has version %s, not %s: %s changed it at %s', called, o.version, workflow_apply.version,
                                 o.changed_by, to_char(o.changed_at, 'YYYY-MM-DD HH24:MI:SS')) end,
      hint = format('Look at what was changed: bellhop workflow history %s', called);
  elsif o.definition = kept and o.active = live then
    return o.version;
  end if;
  return bellhop.workflow_write(called, kept, live, case when o.name is null then 'created' when o.definition <> kept then 'changed'
                                                         when live then 'activated' else 'deactivated' end);
end
$$;

-- workflow_change: activates, deactivates or deletes. Returns whether it was otherwise before; NULL when there is no such workflow.
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
      hint = format('Deactivate it, and wait, or cancel its jobs: bellhop workflow show %s', o.name);
  elsif what <> 'deleted' and o.active = (what = 'activated') then
    return false;
  end if;
  perform bellhop.workflow_write(o.name, o.definition, case what when 'activated' then true when 'deactivated' then false else o.active end, what);
  return true;
end
$$;

revoke all on function bellhop.workflow_faults, bellhop.sensor_kind, bellhop.refuse_but_operators, bellhop.workflow_write,
                       bellhop.workflow_apply, bellhop.workflow_change from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant execute on function bellhop.workflow_apply, bellhop.workflow_change to bellhop_operator, bellhop_scheduler;
    grant execute on function bellhop.sensor_kind to bellhop_reader, bellhop_operator, bellhop_scheduler;
    grant execute on function bellhop.workflow_faults, bellhop.refuse_but_operators, bellhop.workflow_write to bellhop_scheduler;
  end if;
end
$$;
