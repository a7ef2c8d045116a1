-- Runs of workflows: jobs and dependencies like any others, made in one transaction. A run ends by a dependency, too: a
-- dummy, its last job, needs all of its steps, however they end. The statement that records the outcome of the last
-- step passes the dummy (bellhop.pass_dummies), and that records how the run has ended: no crash comes in between, and
-- jobs without a run pay nothing. If another run is open, a new one waits at a second dummy, its gate, for the last job
-- of the open run.

-- filled: a template with the values of parameters: ${NAME}, and $${ for ${. What has no value stays: results of other
-- steps, while they are to come. The same rule as scheduler/workflow's Parts.
-- Grant: scheduler
create or replace function bellhop.filled(template text, given jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $f$
  select case when strpos(template, '${') = 0 then template else (
    select string_agg(case when m.part[1] = '$${' then '${' when m.part[2] is not null then coalesce(given ->> m.part[2], m.part[1]) else m.part[1] end,
                      '' order by m.n)
      from regexp_matches(template, e'(\\$\\$\\{|\\$\\{([A-Za-z_][A-Za-z0-9_]*|steps\\.[A-Za-z0-9_.-]+\\.result(?:\\.[^{}.]+)*)\\}|\\$|[^$]+)', 'g') with ordinality as m (part, n)) end
$f$;

-- one_line: the form of a value that fills a parameter of args, which are one line: JSON is compacted, and in other
-- text a line break is \n or \r, as in items.
-- Grant: scheduler
create or replace function bellhop.one_line(value text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if value !~ e'[\\n\\r]' then
    return value;
  end if;
  if value ~ e'^\\s*[[{]' then
    begin
      return value::jsonb::text;
    exception when data_exception or program_limit_exceeded or statement_too_complex then null; -- it only looks like JSON
    end;
  end if;
  return replace(replace(value, e'\n', e'\\n'), e'\r', e'\\r');
end
$$;

-- step_fault: why a step cannot become a job with these values of its parameters, and which of them is at fault; NULL:
-- it can.
-- Grant: scheduler
create or replace function bellhop.step_fault(s jsonb, vals jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select format('step %s: %s%s', s ->> 'name', f.why, (
           select ' (parameter ' || string_agg(distinct m.part[1], ', ') || ')' from regexp_matches(f.template, '[$][{]([A-Za-z_][A-Za-z0-9_]*)[}]', 'g') m (part)))
    from (
      select l as template, bellhop.lock_fault(bellhop.filled(l, vals)) as why
        from jsonb_array_elements_text(case when jsonb_typeof(s -> 'locks') = 'array' then s -> 'locks' else '[]' end) l
      union all
      select s ->> 'run_on', case when bellhop.filled(s ->> 'run_on', vals) = '' then 'run_on is empty'
                                  when bellhop.filled(s ->> 'run_on', vals) ~ e'[\\n\\r]' then 'there is a line break in run_on' end
      union all
      select s ->> 'share', case when length(bellhop.filled(s ->> 'share', vals)) not between 1 and 200 then 'share is empty, or longer than 200 characters' end
    ) f where f.why is not null limit 1
$$;

-- An older one, which knew of one queued run only.

-- make_run: a run of a workflow, whose row the caller has locked. room: the run is skipped if so many are queued
-- already; NULL: it never is. chosen: only these steps; a step that needs one that is left out needs those that this
-- one needs. Returns its id. Index: run_open.
-- Grant: scheduler
create or replace function bellhop.make_run(w bellhop.workflow, event text, slot timestamptz, who text, given jsonb, room integer,
                                            chosen text[] default null) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  r     bigint;
  ahead bigint; -- the last job of the run before it
  front bigint; -- the gate of that run, if it is queued: its steps may be cancelled before their turn
  door  bigint; -- its gate
  close bigint; -- its last
  all_ends constant text[] := '{succeeded,failed,cancelled,quarantined}';
  vals  jsonb;
  steps jsonb := w.definition -> 'steps';
  ids   jsonb; -- of steps, by name
  line  jsonb; -- vals, each on one line
  fault text;
begin
  perform bellhop.runs_lost(w.name);
  if room is not null
     and (not w.active or room <= (select count(*) from (select from bellhop.run x where x.workflow = w.name and x.state = 'queued' limit room) q)) then
    insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, ended_at, reason)
    values (w.name, w.version, event, who, 'skipped', given, clock_timestamp(),
            case when not w.active then 'the workflow is not active' when room = 1 then 'a run of this workflow was queued already'
                 else format('%s runs of this workflow were queued already, and no more wait', room) end)
    returning id into r;
    perform bellhop.end_told(r, w.name, 'skipped', (select x.reason from bellhop.run x where x.id = r));
    return r;
  end if;
  -- A queued run with a reason waits until its workflow is active again (bellhop.runs_wait): a run by hand overtakes
  -- it. The end of the queue is its newest queued run, also if a run by hand began later.
  select x.last, case when x.state = 'queued' then x.gate end into ahead, front from bellhop.run x
   where x.workflow = w.name and (x.state = 'running' or x.state = 'queued' and x.reason is null) order by x.state = 'queued' desc, x.id desc limit 1;
  insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, started_at)
  values (w.name, w.version, event, who, case when ahead is null then 'running' else 'queued' end, given,
          case when ahead is null then clock_timestamp() end)
  returning id into r;
  vals := coalesce(w.definition -> 'parameters', '{}') || given || jsonb_strip_nulls(jsonb_build_object(
    'WORKFLOW', w.name, 'RUN', r::text, 'EVENT', coalesce(event, ''),
    'SLOT', to_char(coalesce(slot, now()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'SLOT_DATE', to_char(coalesce(slot, now()) at time zone coalesce(w.definition -> 'sensor' ->> 'zone', 'UTC'), 'YYYY-MM-DD')));
  select jsonb_object_agg(v.key, bellhop.one_line(v.value)) into line from jsonb_each_text(vals) v;
  select bellhop.step_fault(s, vals) into fault from jsonb_array_elements(steps) with ordinality x (s, n)
   where (chosen is null or s ->> 'name' = any (chosen)) and (s ? 'locks' or s ? 'run_on' or s ? 'share') and bellhop.step_fault(s, vals) is not null order by n limit 1;
  if found then
    raise check_violation using message = fault, hint = format('bellhop workflow run %s --param NAME=VALUE   starts it with another value', w.name);
  end if;
  if chosen is not null then
    select format('step %s takes the result of step %s, which this run leaves out', s ->> 'name', k.step) into fault
      from jsonb_array_elements(steps) s cross join lateral bellhop.results_of_step(s) k
     where s ->> 'name' = any (chosen) and k.step <> all (chosen) limit 1;
    if found then
      raise check_violation using message = fault, hint = format('bellhop workflow run %s   runs all steps, and --from STEP one and those that need it', w.name);
    end if;
  end if;
  if ahead is not null then
    insert into bellhop.jobqueue (type, run, on_failure) values ('dummy', r, 'run') returning id into door;
  end if;
  with made as (
    insert into bellhop.jobqueue (type, args, msq, run_on, priority, vars, locks, max_attempts, timeout, on_failure, traceparent, own_attempts, run, step, share, template)
    select s ->> 'type', bellhop.filled(s ->> 'args', line), s ->> 'msq', bellhop.filled(s ->> 'run_on', vals),
           coalesce((s ->> 'priority')::smallint, 0),
           (select jsonb_object_agg(v.key, bellhop.filled(v.value, vals)) from jsonb_each_text(s -> 'vars') v),
           case when s ? 'locks' then array(select bellhop.filled(l, vals) from jsonb_array_elements_text(s -> 'locks') l) end,
           coalesce((s ->> 'max_attempts')::integer, 1), (s ->> 'timeout')::interval, coalesce(s ->> 'on_failure', 'fail'),
           nullif(current_setting('bellhop.traceparent', true), ''), case when s ? 'max_attempts' then true end, r, s ->> 'name',
           bellhop.filled(s ->> 'share', vals),
           case when exists (select from bellhop.results_of_step(s)) then jsonb_build_object('args', s -> 'args', 'vars', s -> 'vars', 'given', vals) end
      from jsonb_array_elements(steps) with ordinality as x (s, n)
     where chosen is null or s ->> 'name' = any (chosen)
     order by n
    returning id, step
  )
  select jsonb_object_agg(m.step, m.id) into ids from made m;
  insert into bellhop.jobqueue (type, run, on_failure) values ('dummy', r, 'run') returning id into close;
  with recursive need (step, needs) as (
    select s ->> 'name', a.name
      from jsonb_array_elements(steps) s, jsonb_array_elements_text(coalesce(s -> 'after', '[]')) a (name)
  ), way (step, needs) as (
    select n.step, n.needs from need n where ids ? n.step
    union
    select y.step, n.needs from way y join need n on n.step = y.needs where not ids ? y.needs
  ), edge (job, needs, wanted) as (
    select (ids ->> y.step)::bigint, (ids ->> y.needs)::bigint, '{succeeded}'::text[] from way y where ids ? y.needs
    union all
    select i.value::bigint, door, all_ends from jsonb_each_text(ids) i
     where door is not null and not exists (select from way y where y.step = i.key and ids ? y.needs)
    union all
    select door, a, all_ends from unnest(array[ahead, front]) a where door is not null and a is not null
    union all
    select close, i.value::bigint, all_ends from jsonb_each_text(ids) i
  )
  insert into bellhop.dependency (job, needs, wanted) select e.job, e.needs, e.wanted from edge e;
  update bellhop.run x set gate = door, last = close where x.id = r;
  return r;
end
$$;

-- runs_moved: these dummies have passed. Gates: their runs begin. Last jobs: their runs have ended, as their steps
-- have.
-- Grant: scheduler
create or replace function bellhop.runs_moved(dummies bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  x    record;
  ends text;
  none text;
begin
  for x in
    select r.*, r.last = any (dummies) as over from bellhop.run r
     where r.id = any (array(select j.run from bellhop.jobqueue j where j.id = any (dummies) and j.run is not null))
     order by r.id
  loop
    if not coalesce(x.over, false) then
      update bellhop.run r set state = 'running', started_at = clock_timestamp() where r.id = x.id and r.state = 'queued';
      continue;
    end if;
    select format('step %s %s (job %s)', j.step, case j.state when 'failed' then 'failed' else 'was ' || j.state end, j.id) into ends
      from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
     where d.job = x.last and j.state <> 'succeeded'
     order by j.ended_by is not null, j.id limit 1;
    -- A run whose steps all had nothing to do does not count as a success: no notice says so, and it starts no other
    -- workflow.
    select format('no step had anything to do: step %s (job %s) said %s', min(j.step) filter (where j.id = f.id), f.id,
                  min(replace(j.ended_as, '_', ' ')) filter (where j.id = f.id)) into none
      from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
     cross join lateral (select min(q.needs) as id from bellhop.dependency q where q.job = x.last) f
     where ends is null and d.job = x.last
     group by f.id having bool_and(j.ended_as is not null);
    perform bellhop.run_ended(x.id, case when ends is not null then 'failed' when none is not null then 'skipped' else 'succeeded' end, coalesce(ends, none));
  end loop;
end
$$;

-- run_ended: records that a run has ended in this state, and rings the sensors that wait for it. It never waits for a
-- row that an app may have locked: the same statement writes outcomes.
-- Grant: scheduler
create or replace function bellhop.run_ended(id bigint, state text, reason text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
-- its caller turns these off, to hash lists; here is one row, for which all workflows would be read
set enable_nestloop = on
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  called text;
  door   bigint;
  ending integer;
  rung   boolean := false;
begin
  update bellhop.run r
     set state = run_ended.state, reason = run_ended.reason, ended_at = clock_timestamp(), started_at = coalesce(r.started_at, clock_timestamp()),
         endings = r.endings + 1
   where r.id = run_ended.id and r.state in ('queued', 'running')
  returning r.workflow, r.gate, r.endings into called, door, ending;
  if not found then
    return;
  end if;
  if door is not null then -- it never began, and its steps were cancelled: no other statement would let its gate go
    update bellhop.jobqueue j set state = 'cancelled', held = false, unmet = null, waiting_for = null, ended_at = clock_timestamp()
     where j.id = any (array(select q.id from bellhop.jobqueue q where q.id = door and q.state = 'held' for update skip locked));
  end if;
  perform bellhop.end_told(run_ended.id, called, run_ended.state, run_ended.reason);
  if not exists (select from bellhop.sensor) then
    return;
  end if;
  insert into bellhop.event (workflow, event)
  -- each end is an event
  select s.workflow, 'run=' || run_ended.id || case when ending > 1 then '/' || ending else '' end
    from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
   where s.source = called and w.active and coalesce(w.definition -> 'sensor' -> 'when', '["succeeded"]') ? run_ended.state
  on conflict do nothing;
  rung := found;
  -- A workflow that begins again after its end. If another transaction has locked its row, the safety scan finds it
  -- (bellhop.sensors_next).
  update bellhop.sensor s
     set next_fire = clock_timestamp() + (w.definition -> 'sensor' ->> 'every')::interval
    from bellhop.workflow w
   where s.workflow = any (array(select y.workflow from bellhop.sensor y where y.workflow = called and y.kind = 'every' and y.next_fire = 'infinity'
                                    for update skip locked))
     and w.name = s.workflow;
  if rung or found then
    perform pg_notify('bellhop_due', '');
  end if;
end
$$;

-- runs_lost: ends runs whose last job was cancelled by itself, or deleted: they would stay open for ever.
-- Grant: scheduler
create or replace function bellhop.runs_lost(workflow text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  x record;
begin
  for x in
    select r.id, r.last, j.id is not null as there
      from bellhop.run r left join bellhop.jobqueue j on j.id = r.last
     where r.workflow = runs_lost.workflow and r.state in ('queued', 'running')
       and (j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'))
     order by r.id
  loop
    if x.there then
      perform bellhop.runs_moved(array[x.last]);
    else
      perform bellhop.run_ended(x.id, 'failed', 'its jobs were deleted');
    end if;
  end loop;
end
$$;

-- refuse_parameters: raises an error if a parameter is given that the definition does not have.
-- Grant: scheduler
create or replace function bellhop.refuse_parameters(w bellhop.workflow, given jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  unknown text;
begin
  if jsonb_typeof(given) is distinct from 'object' or jsonb_path_exists(given, 'strict $.* ? (@.type() != "string")') then
    raise invalid_parameter_value using message = 'parameters are a JSON object of strings', hint = 'as in {"DAY": "2026-11-01"}';
  end if;
  select k into unknown from jsonb_object_keys(given) k where not coalesce(w.definition -> 'parameters', '{}') ? k limit 1;
  if found then
    raise invalid_parameter_value using message = format('workflow %s has no parameter %s', w.name, unknown),
      hint = coalesce((select 'It has ' || string_agg(k, ', ') from jsonb_object_keys(w.definition -> 'parameters') k), 'It has none.');
  end if;
end
$$;

-- event_to_run: the event of a workflow for a run by hand; its row is locked. It must have no run that began: its run
-- was skipped, or its jobs could not be made. Index: event's primary key.
-- Grant: scheduler
create or replace function bellhop.event_to_run(called text, event text) returns bellhop.event
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v bellhop.event;
  r bellhop.run;
begin
  select * into v from bellhop.event e where e.workflow = called and e.event = event_to_run.event for update;
  if not found then
    raise undefined_object using message = format('workflow %s has no event %s', called, event_to_run.event),
      hint = format('bellhop workflow events %s   lists them', called);
  elsif v.run is null then
    raise object_not_in_prerequisite_state using message = format('event %s came just now, and its run is being made', v.event),
      hint = format('bellhop workflow explain %s', called);
  end if;
  select * into r from bellhop.run x where x.id = v.run;
  if r.state <> 'skipped' and r.last is not null then
    raise object_not_in_prerequisite_state using message = format('event %s has a run already: %s, which is %s', v.event, r.id, r.state),
      hint = case when r.state = 'failed' then format('bellhop workflow retry %s', r.id) else format('bellhop workflow show --run %s', r.id) end;
  end if;
  return v;
end
$$;

-- An older one, which ran no events.

-- workflow_run: a run by hand, which is never skipped. event: a skipped event to run, with its values; parameters
-- replace them. Returns its id; NULL: there is no such workflow.
-- Grant: operator scheduler
create or replace function bellhop.workflow_run(name text, parameters jsonb default '{}', steps text[] default null, event text default null) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  w       bellhop.workflow;
  v       bellhop.event;
  r       bigint;
  unknown text;
begin
  perform bellhop.refuse_but_operators('run workflows');
  select * into w from bellhop.workflow x where x.name = workflow_run.name for update;
  if not found then
    return null;
  end if;
  perform bellhop.refuse_parameters(w, workflow_run.parameters);
  select s into unknown from unnest(workflow_run.steps) s
   where not exists (select from jsonb_array_elements(w.definition -> 'steps') d where d ->> 'name' = s);
  if found or workflow_run.steps = '{}' then
    raise invalid_parameter_value using message = format('workflow %s has no step %s', w.name, coalesce(unknown, 'to run')),
      hint = format('bellhop workflow show %s', w.name);
  end if;
  if workflow_run.event is not null then
    v := bellhop.event_to_run(w.name, workflow_run.event);
  end if;
  r := bellhop.make_run(w, v.event, coalesce(v.slot, v.at), bellhop.actor(), coalesce(v.parameters, '{}') || workflow_run.parameters, null, workflow_run.steps);
  update bellhop.event e set run = r where e.workflow = w.name and e.event = v.event;
  perform bellhop.changed('run', 'workflow', w.name, 'run ' || r);
  return r;
end
$$;

-- happened: records an event that starts a workflow: once, however often callers report it. Returns whether it is new;
-- NULL: there is no such workflow, or it is not active. An instance makes the run as soon as this is committed.
-- Grant: scheduler
create or replace function bellhop.happened(called text, event text, given jsonb) returns boolean
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  if not exists (select from bellhop.workflow w where w.name = called and w.active) then
    return null;
  end if;
  insert into bellhop.event (workflow, event, parameters) values (called, happened.event, given) on conflict (workflow, event) do nothing;
  if not found then
    return false;
  end if;
  perform pg_notify('bellhop_due', '');
  return true;
end
$$;

-- refuse_names_of_sensors: an event with a name that a sensor would give takes that name from the sensor: a slot that
-- is an event already does not fire.
-- Grant: scheduler
create or replace function bellhop.refuse_names_of_sensors(sensor jsonb, event text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  what text;
begin
  what := case
    when event ~ e'^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' then 'slots'
    when event ~ e'^run=\\d+(/\\d+)?$' then 'ends of runs'
    when event ~ '^http[=:]' then 'requests (bellhop.workflow_http)'
    when event ~ e'^(notify|file|kafka)[:=]\\d+$' then 'events without a name of their own'
    when sensor ? 'table' and starts_with(event, (sensor ->> 'table') || '=') then 'rows of its table'
    when sensor ? 'file' and starts_with(event, '/') then 'files'
    when sensor ? 'kafka' and starts_with(event, (sensor ->> 'topic') || '/') then 'records of its topic'
    when strpos(event, '=') > 0 and exists (
           select from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
            where t.tgfoid = 'bellhop.row_event'::regproc and starts_with(event, n.nspname || '.' || c.relname || '='))
      then 'rows of a table' end;
  if what is not null then
    raise invalid_parameter_value using message = format('an event cannot be called %s: that name is reserved for %s', event, what),
      hint = 'Give it a name of your own, as in: order 4711';
  end if;
end
$$;

-- workflow_event: an event that a client reports, under a name of the client's choice.
-- Grant: submitter operator scheduler
create or replace function bellhop.workflow_event(name text, event text, parameters jsonb default '{}') returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  w bellhop.workflow;
begin
  select * into w from bellhop.workflow x where x.name = workflow_event.name and x.active;
  if not found then
    return null;
  end if;
  perform bellhop.refuse_parameters(w, workflow_event.parameters);
  if length(workflow_event.event) not between 1 and 200 or workflow_event.event is null then
    raise invalid_parameter_value using message = 'the name of an event has 1 to 200 letters', hint = 'Write a shorter one, and the rest into a parameter.';
  end if;
  perform bellhop.refuse_names_of_sensors(w.definition -> 'sensor', workflow_event.event);
  return bellhop.happened(w.name, workflow_event.event, workflow_event.parameters);
end
$$;

-- workflow_retry: a failed run goes on: steps that succeeded stay so, except steps that went by a failure. Returns how
-- many steps are tried again; NULL: no such run.
-- Grant: operator scheduler
create or replace function bellhop.workflow_retry(run bigint) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  r    bellhop.run;
  step bigint;
  n    integer := 0;
begin
  perform bellhop.refuse_but_operators('retry runs');
  select * into r from bellhop.run x where x.id = workflow_retry.run;
  if not found then
    return null;
  end if;
  perform from bellhop.workflow w where w.name = r.workflow for update; -- no other run of it begins until this ends
  -- Jobs are locked before their run, and steps before the jobs that wait for them, as in retry and in outcomes.
  perform from bellhop.jobqueue j
    where j.id = any (array(select d.needs from bellhop.dependency d where d.job = r.last union all select r.last))
    order by j.id for update;
  select * into r from bellhop.run x where x.id = workflow_retry.run for update;
  if r.state <> 'failed' then
    raise object_not_in_prerequisite_state using message = format('run %s is %s', r.id, r.state),
      hint = 'Only a run that failed can go on; bellhop workflow run ' || r.workflow || '   starts another.';
  elsif exists (select from bellhop.run x where x.workflow = r.workflow and x.state in ('queued', 'running')) then
    raise object_not_in_prerequisite_state using message = format('another run of %s is open', r.workflow),
      hint = format('Wait until it is over: bellhop workflow show %s', r.workflow);
  elsif r.last is null or not exists (select from bellhop.dependency d where d.job = r.last) then
    raise object_not_in_prerequisite_state using message = format('the jobs of run %s are not there any more', r.id),
      hint = 'bellhop workflow run ' || r.workflow || '   starts another.';
  end if;
  -- In the order in which they were made: needed steps come first.
  for step in select j.id from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
               where d.job = r.last and j.state in ('failed', 'cancelled', 'quarantined') order by j.id loop
    perform bellhop.retry_job(step);
  end loop;
  select count(*) into n from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
   where d.job = r.last and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  perform bellhop.changed('rerun', 'run', r.id::text, format('%s steps go on', n));
  return n;
end
$$;

-- An older one, of one step, which no instance calls any more.

-- step_again: steps of a run are to run again (bellhop.retry): their run is open until they have ended again.
-- Grant: scheduler
create or replace function bellhop.step_again(run bigint, jobs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r bellhop.run;
begin
  -- In the order in which an outcome locks them (pass_dummies, run_ended): else one would wait for the other.
  perform from bellhop.jobqueue j where j.id = (select x.last from bellhop.run x where x.id = step_again.run) for no key update;
  select * into r from bellhop.run x where x.id = step_again.run for update;
  update bellhop.dependency d set met = false, counted = false where d.job = r.last and d.needs = any (step_again.jobs);
  if not found then
    return;
  end if;
  -- It ends once more, also if it ended before ends were counted.
  update bellhop.run x set state = 'running', ended_at = null, reason = null, endings = greatest(x.endings, 1) where x.id = r.id and x.state in ('succeeded', 'failed', 'skipped');
  if exists (select from bellhop.jobqueue j where j.id = r.last and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')) then
    perform bellhop.retry_job(r.last);
  else
    perform from bellhop.jobqueue j where j.id = r.last for no key update;
    perform bellhop.resolve(array[r.last], false);
    perform pg_notify('bellhop_due', '');
  end if;
end
$$;

-- run_step: the jobs of runs, by run and step. Readers see all of them.
create or replace view bellhop.run_step with (security_barrier) as
  select r.id as run, j.step, j.id as job, j.type, j.state, j.attempt, j.exit_code, j.created_at, j.started_at, j.ended_at, r.workflow, j.ended_as,
         substring(j.error from '^(submission_timeout|engine_lost): ') as cause
    from bellhop.run r
    join bellhop.dependency d on d.job = r.last
    join bellhop.jobqueue j on j.id = d.needs
   where (select bellhop.is_reader());

revoke all on bellhop.run_step from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.run_step to bellhop_reader, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
