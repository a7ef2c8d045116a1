-- Faults in the definition of a workflow. The program reports the same faults in files, and in requests to the API, in
-- the same sentences and with line and column (config, scheduler/workflow); one test runs both through the same
-- mistakes.

-- json_kind: the kind of a value, in words.
-- Grant: scheduler
create or replace function bellhop.json_kind(v jsonb) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case jsonb_typeof(v) when 'object' then 'keys and values' when 'array' then 'a list' when 'number' then 'a number'
              when 'boolean' then 'true or false' when 'string' then 'a string' else 'nothing' end;
end
$$;

-- value_fault: what is wrong with one value of a definition, which is to be of this kind; NULL: nothing.
-- Grant: scheduler
create or replace function bellhop.value_fault(v jsonb, place text, wants text, example text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when wants in ('word', 'text') and v = 'null' then place || ' has no value; leave it out, or write "" for an empty one'
    when wants in ('word', 'text') and jsonb_typeof(v) <> 'string'
      then format('%s must be a string, not %s%s', place, bellhop.json_kind(v), case when jsonb_typeof(v) not in ('object', 'array') then '; put it in quotes' else '' end)
    when wants = 'word' and v #>> '{}' ~ e'^\\s*$' then place || ' is empty'
    when wants = 'flag' and jsonb_typeof(v) <> 'boolean' then format('%s must be true or false, not %s', place, bellhop.json_kind(v))
    when wants in ('list', 'words') and jsonb_typeof(v) <> 'array' then format('%s must be a list, not %s; %s', place, bellhop.json_kind(v), example)
    when wants = 'pairs' and jsonb_typeof(v) <> 'object' then format('%s must hold names and values, not %s; %s', place, bellhop.json_kind(v), example)
    when wants in ('whole', 'count') and jsonb_typeof(v) <> 'number' then format('%s must be a whole number, not %s', place, bellhop.json_kind(v))
    when wants in ('whole', 'count') and v #>> '{}' ~ '[.eE]' then format('%s must be a whole number, not %s', place, v #>> '{}')
    when wants = 'count' and (v #>> '{}')::numeric < 0 then format('%s is %s; write 0 or more', place, v #>> '{}')
    when wants in ('whole', 'count') and abs((v #>> '{}')::numeric) > 2147483647 then format('%s is %s, which is too much', place, v #>> '{}')
    when wants = 'long' and jsonb_typeof(v) = 'number' then format('%s is %s without a unit; write %2$ss, %2$sm or %2$sh', place, v #>> '{}')
    when wants = 'long' and jsonb_typeof(v) <> 'string' then format('%s must be a duration, not %s; write it like 10s, 15m or 1h30m', place, bellhop.json_kind(v))
    when wants = 'long' and v #>> '{}' !~ '^([-+]?(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$'
      then format('%s: %s is not a valid duration; write it like 10s, 15m or 1h30m', place, v)
    when wants = 'long' and v #>> '{}' !~ '[1-9]' then format('%s must be more than nothing; write it like 10s, 15m or 1h30m', place)
    when wants = 'long' and v #>> '{}' like '-%' then format('%s is negative (%s)', place, v #>> '{}')
    -- A job's timeout may be 100 years, each of 360 days (scheduler/grammar).
    when wants = 'long' and coalesce(substring(v #>> '{}' from '([0-9]+)[.0-9]*h')::numeric, 0) + coalesce(substring(v #>> '{}' from '([0-9]+)[.0-9]*m(?!s)')::numeric / 60, 0)
                            + coalesce(substring(v #>> '{}' from '([0-9]+)[.0-9]*s')::numeric / 3600, 0) >= 864000
      then format('%s is %s, which is too much; write it like 10s, 15m or 1h30m', place, v #>> '{}')
  end;
end
$$;

-- bound_fault: what is wrong with one value of a definition, whose kind is right; NULL: nothing. A count of 0 is left
-- out. The same as scheduler/grammar's Field.
-- Grant: scheduler
create or replace function bellhop.bound_fault(
  v jsonb, key text, choices text[], pattern text, lowest integer, most integer, bytes integer, wrong text, hint text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case jsonb_typeof(v)
    when 'string' then
      case when v #>> '{}' <> all (choices) or v #>> '{}' !~ pattern or pattern is not null and length(v #>> '{}') > most
           then replace(wrong, '%s', to_json(v #>> '{}')::text) || '; ' || hint
           when length(v #>> '{}') > most then format('%s has %s characters, and may have %s', key, length(v #>> '{}'), most)
           when octet_length(v #>> '{}') > bytes then format('%s has %s bytes, and may have %s', key, octet_length(v #>> '{}'), bytes) end
    when 'number' then
      case when (v #>> '{}')::numeric not between lowest and most and not (v #>> '{}' = '0' and lowest > 0)
           then format('%s %s is out of range; %s', key, v #>> '{}', hint) end
  end;
end
$$;

-- lock_fault: what is wrong with the text of a lock; NULL: nothing. The same as scheduler/lock's Parse.
-- Grant: scheduler
create or replace function bellhop.lock_fault(lock text) returns text
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  how   constant text := 'write level:name=exclusive, level:name=shared, level:*=shared (all), level:?=shared (unknown), or big';
  colon integer := strpos(lock, ':');
  eq    integer := length(lock) - strpos(reverse(lock), '=') + 1; -- beyond the end if there is none
  level text := left(lock, colon - 1);
  named text := substr(lock, colon + 1, greatest(eq - colon - 1, 0));
  at    integer;
  why   text;
  next  text := how;
begin
  if lock = 'big' then
    return null;
  elsif lock = '' then
    at := 1; why := 'it is empty';
  elsif colon = 0 then
    at := length(lock) + 1; why := 'there is no colon after a level';
  elsif eq > length(lock) or eq < colon then
    at := length(lock) + 1; why := 'there is no = with a mode after the name'; next := format('write %s=exclusive, or %1$s=shared', lock);
  elsif level = '' then
    at := 1; why := 'the level is empty';
  elsif level = 'big' then
    at := 1; why := 'big is a lock, and not a level';
  elsif octet_length(level) > 1024 then
    at := 1; why := format('the level has %s bytes, and may have 1024', octet_length(level));
  elsif level ~ '[^a-zA-Z0-9_-]' then
    at := length(substring(level from '^[a-zA-Z0-9_-]*')) + 1;
    why := format('''%s'' may not stand in a level: letters a to z, digits, _ and - may', substr(level, at, 1));
  elsif substr(lock, eq + 1) not in ('exclusive', 'shared') then
    at := eq + 1; why := format('%s is not a valid mode', to_json(substr(lock, eq + 1))); next := format('write %s=exclusive, or %1$s=shared', left(lock, eq - 1));
  elsif named in ('', e'\\') then
    at := colon + 1; why := 'the name is empty';
    next := format('write %s:NAME=%s, or %1$s:*=%2$s for all', level, substr(lock, eq + 1));
  elsif octet_length(named) - (named like e'\\\\%')::integer > 1024 then
    at := colon + 1; why := format('the name has %s bytes, and may have 1024', octet_length(named) - (named like e'\\\\%')::integer);
    next := 'write a shorter one, a hash for instance';
  else
    return null;
  end if;
  return format('lock %s, character %s: %s; %s', to_json(lock), at, why, next);
end
$$;

-- cron_fault: what is wrong with a schedule; NULL: nothing that can be seen here. Only instances see whether it ever
-- comes around. The same as scheduler/cron's Parse.
-- Grant: scheduler
create or replace function bellhop.cron_fault(schedule text) returns text
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  list  text[] := regexp_split_to_array(btrim(schedule, e' \t\n\r'), e'\\s+');
  f     record;
  part  text;
  one   text;
  span  text;
  v     integer[];
begin
  if schedule ~ e'^\\s*@' then
    return case when lower(btrim(schedule)) not in ('@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually')
                then format('%s is not a valid schedule: there are @hourly, @daily, @weekly, @monthly and @yearly', to_json(btrim(schedule))) end;
  elsif schedule ~ e'^\\s*$' or cardinality(list) not in (5, 6) then
    return format('%s has %s fields: it takes 5 (minute hour day month weekday), or 6 with seconds first', to_json(schedule),
                  case when schedule ~ e'^\\s*$' then 0 else cardinality(list) end);
  end if;
  for f in select x.*, list[x.n - 6 + cardinality(list)] as text from (values
      (1, 'second', 0, 59, '{}'::text[]), (2, 'minute', 0, 59, '{}'), (3, 'hour', 0, 23, '{}'), (4, 'day', 1, 31, '{}'),
      (5, 'month', 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'), (6, 'weekday', 0, 7, '{sun,mon,tue,wed,thu,fri,sat}')
    ) x (n, name, least, top, names) where x.n > 6 - cardinality(list) order by x.n
  loop
    foreach part in array string_to_array(f.text, ',') loop
      if part like '%/%' and substr(part, strpos(part, '/') + 1) !~ '^[+]?0*[1-9][0-9]{0,8}$' then
        return format('%s %s: a step is a number from 1 to 999999999, as in */10', f.name, to_json(part));
      end if;
      span := split_part(part, '/', 1);
      continue when span in ('*', '?');
      v := '{}';
      foreach one in array case when span like '%-%' then array[split_part(span, '-', 1), substr(span, strpos(span, '-') + 1)] else array[span] end loop
        v := v || coalesce(f.least + array_position(f.names, lower(one)) - 1,
                           case when one ~ '^0*[0-9]{1,3}$' and one::integer between f.least and f.top then one::integer end);
        if v[cardinality(v)] is null then
          return format('%s %s: it is %s to %s', f.name, to_json(one), f.least, f.top)
            || case when f.names <> '{}' then format(', or %s to %s', upper(f.names[1]), upper(f.names[cardinality(f.names)])) else '' end;
        end if;
      end loop;
      if v[2] < v[1] then
        return format('%s %s: the range ends before it begins', f.name, to_json(part));
      end if;
    end loop;
  end loop;
  return null;
end
$$;

-- zone_known: whether there is a time zone of that name.
-- Grant: scheduler
create or replace function bellhop.zone_known(zone text) returns boolean
language plpgsql stable strict
set search_path = pg_catalog, pg_temp
as $$
begin
  if zone !~ '/' then -- else abbreviations would pass as names; the view reads all files of zones
    return zone = 'UTC' or exists (select from pg_timezone_names z where z.name = zone);
  elsif zone !~ '^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)+$' then
    return false;
  end if;
  perform now() at time zone zone;
  return true;
exception when invalid_parameter_value then
  return false;
end
$$;

-- sensor_faults: what is wrong with a sensor, besides the bounds of its values, which are of the right kinds.
-- Grant: scheduler
create or replace function bellhop.sensor_faults(s jsonb, workflow text) returns setof text
language plpgsql stable strict
set search_path = pg_catalog, pg_temp
as $$
declare
  kinds constant text[] := array(select k.key from bellhop.definition_keys() k where k.part = 'sensor' and k.kinds = array[k.key] order by k.n);
  is_of text[] := array(select k from unnest(kinds) with ordinality x (k, n) where s -> k not in ('null', 'false') order by n);
  kind  text := is_of[1];
  fault text;
begin
  if cardinality(is_of) <> 1 then
    return next format('the sensor has %s; it has one of %s and %s', coalesce(nullif(array_to_string(is_of, ' and '), ''), 'nothing that would start it'),
                       array_to_string(trim_array(kinds, 1), ', '), kinds[cardinality(kinds)]);
    return;
  end if;
  return query
    select format('%s belongs to a sensor of the kind %s, and this is one of %s; leave it out', k.key, array_to_string(k.kinds, ' or '), kind)
      from bellhop.definition_keys() k
     where k.part = 'sensor' and s -> k.key not in ('null', 'false', '0', '[]', '{}') and kind <> all (k.kinds) order by k.n;
  if kind <> 'cron' and (coalesce(s ->> 'at_most', '0') <> '0') <> (s ->> 'per' is not null) then
    return next 'at_most and per mean nothing without each other; write both, like at_most: 8, per: 1h';
  end if;
  if kind = 'cron' and not coalesce(bellhop.zone_known(s ->> 'zone'), true) then
    return next format('%s is not a valid time zone: %s; bellhop cron explain describes schedules', s -> 'zone',
      case lower(s ->> 'zone') when 'local' then 'name one, like Europe/Prague' else 'they are called like Europe/Prague, America/New_York, UTC' end);
  elsif kind = 'cron' then
    fault := bellhop.cron_fault(s ->> 'cron');
    if fault is not null then
      return next fault || '; bellhop cron explain describes schedules';
    end if;
  elsif kind = 'every' and (s ->> 'every')::interval < interval '1 second' then
    return next format('every %s is too often; write 1s or more', s ->> 'every');
  elsif kind = 'every' and extract(microseconds from (s ->> 'every')::interval)::bigint % 1000000 <> 0 then
    return next format('every %s does not fall on seconds; write whole seconds', s ->> 'every');
  elsif kind = 'workflow' and s ->> 'workflow' = workflow then
    return next 'a workflow cannot wait for itself; every: with after_finish: true starts it again';
  elsif kind = 'notify' and s ->> 'notify' ~ '^bellhop(_|$)' then
    return next format('channel %s is bellhop''s own; give it a name of its own', s ->> 'notify');
  elsif kind = 'file' and s ->> 'file' !~ e'^(\\\\[^/]|[^\\\\[]|\\[(\\^|(?!\\^))((\\\\[^/]|[^]/\\\\-])(-(\\\\[^/]|[^]/\\\\-]))?)+\\])*$' then -- as Go's path.Match reads each part
    return next format('%s is not a valid pattern; * stands for any letters, ? for one, [a-z] for one of these', s -> 'file');
  elsif kind = 'file' and (s ->> 'file' !~ '^/' or s ->> 'file' ~ '(//|/[.]{1,2}(/|$)|./$)') then
    return next format('%s is not a valid pattern of whole paths; write it like /srv/in/*.csv', s -> 'file');
  elsif kind = 'file' and s ->> 'file' like '%**%' then
    return next '** is not known; write one * for each folder';
  elsif kind = 'kafka' and s ->> 'topic' is null then
    return next format('topic is missing; %s', (select k.hint from bellhop.definition_keys() k where k.part = 'sensor' and k.key = 'topic'));
  end if;
  if kind = 'file' and s ->> 'event' not in ('path', 'version') then
    return next format('a file is not named by its %s; known are path, version', s -> 'event');
  end if;
  if s ->> 'catch_up' is not null and coalesce((s ->> 'after_finish')::boolean, false) then
    return next 'there are no slots here that could be missed; leave it out';
  elsif kind = 'kafka' and s ->> 'catch_up' = 'one' then
    return next 'catch_up cannot be "one"; known are all, none';
  end if;
end
$$;

-- definition_fields: every value of a definition, with its key's row in definition_keys and its place. n orders them: 0 is
-- the definition, 1 to 99999 the steps and 100000 the rules. A part that is not an object has no values.
-- Grant: scheduler
create or replace function bellhop.definition_fields(definition jsonb) returns table (place text, part text, n bigint, whole jsonb, key text, v jsonb)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with part (place, part, v, n) as (
    select null, '', definition, 0::bigint
    union all
    select 'sensor', 'sensor', definition -> 'sensor', 0 where definition -> 'sensor' <> 'null'
    union all
    select format('%s[%s]', l.key, x.n - 1), l.part, x.v, l.first + x.n
      from (values ('steps', 'step', 0), ('notify', 'notice', 100000)) l (key, part, first)
     cross join lateral jsonb_array_elements(case when jsonb_typeof(definition -> l.key) = 'array' then definition -> l.key else '[]' end)
                        with ordinality x (v, n)
  )
  select p.place, p.part, p.n, p.v, f.key, f.value
    from part p left join lateral jsonb_each(case when jsonb_typeof(p.v) = 'object' then p.v else '{}' end) f on f.value <> 'null';
end
$$;

-- workflow_faults: all faults of a definition, each with its place and with what to write instead. A definition is in
-- the program's form: steps stand behind those that they need, so that none can wait for itself through others.
-- Grant: scheduler
create or replace function bellhop.workflow_faults(definition jsonb) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
-- The number of steps is a guess: the plan would compile for longer than all else takes, and join ten thousand row by
-- row.
set jit = off
set enable_nestloop = off
as $f$
declare
  faults text[];
  builtin constant text[] := '{WORKFLOW,RUN,EVENT,SLOT,SLOT_DATE}';
begin
  -- The keys, and the kinds of their values: nothing else is looked at before they are right.
  with field as materialized (
    select f.*, concat_ws('.', f.place, f.key) as at from bellhop.definition_fields(definition) f
  ), part as materialized (
    select distinct on (f.n, f.part) f.place, f.part, f.n, f.whole as v from field f
  ), fault (n, text) as (
    select p.n, format('%s must hold keys and values, not %s; its keys are %s', coalesce(p.place, 'a definition'), bellhop.json_kind(p.v),
                       (select string_agg(k.key, ', ' order by k.n) from bellhop.definition_keys() k where k.part = p.part))
      from part p where jsonb_typeof(p.v) is distinct from 'object'
    union all
    select f.n, format('unknown key %s%s; known are %s', to_json(f.key), ' in ' || f.place,
                       (select string_agg(k.key, ', ' order by k.n) from bellhop.definition_keys() k where k.part = f.part))
      from field f where f.key is not null and not exists (select from bellhop.definition_keys() k where k.part = f.part and k.key = f.key)
    union all
    select p.n, concat_ws('.', p.place, k.key) || ' is missing'
      from part p join bellhop.definition_keys() k on k.part = p.part and k.required
     where jsonb_typeof(p.v) = 'object' and coalesce(p.v -> k.key, 'null') = 'null'
    union all
    select f.n, bellhop.value_fault(f.v, f.at, k.wants, k.example)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key
    union all
    select f.n, bellhop.value_fault(e.v, format('%s[%s]', f.at, e.n - 1), 'word', null)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key and k.wants = 'words'
     cross join lateral jsonb_array_elements(case when jsonb_typeof(f.v) = 'array' then f.v else '[]' end) with ordinality e (v, n)
    union all
    select f.n, bellhop.value_fault(e.value, concat_ws('.', f.at, e.key), 'text', null)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key and k.wants = 'pairs'
     cross join lateral jsonb_each(case when jsonb_typeof(f.v) = 'object' then f.v else '{}' end) e
    union all
    select 1, 'there are no steps; write one like - {name: fetch, type: sh, args: "…"}' where definition -> 'steps' = '[]'
  )
  select array_agg(t.text order by t.n, t.text) into faults from fault t where t.text is not null;
  if faults is not null then
    return faults;
  end if;
  with recursive step as materialized (
    select x.n, x.v ->> 'name' as name, x.v as s, case when x.v -> 'after' is null or x.v -> 'after' = 'null' then '[]' else x.v -> 'after' end as after
      from jsonb_array_elements(definition -> 'steps') with ordinality x (v, n)
  ), first as materialized (
    select t.name, min(t.n) as n from step t group by t.name
  ), text (n, field, t) as (
    select t.n, f.key, t.s ->> f.key from step t cross join (values ('args'), ('run_on'), ('share')) f (key)
    union all
    select t.n, 'locks', l from step t cross join lateral jsonb_array_elements_text(nullif(t.s -> 'locks', 'null')) l
    union all
    select t.n, 'vars', v.value from step t cross join lateral jsonb_each_text(nullif(t.s -> 'vars', 'null')) v
  ), takes as materialized ( -- results of other steps
    select x.n, x.field, k.key, k.step from text x cross join lateral bellhop.results_named(x.t) k
  ), way (n, name) as ( -- what steps need that take results of others than those in after
    select t.n, a.name from step t cross join lateral jsonb_array_elements_text(t.after) a (name)
     where exists (select from takes k where k.n = t.n and not t.after ? k.step)
    union
    select w.n, a.name from way w join first f on f.name = w.name join step t on t.n = f.n cross join lateral jsonb_array_elements_text(t.after) a (name)
  ), fault (n, text) as (
    select k.n, case when k.field not in ('args', 'vars') then format('%s may not stand in %s; results are for args and vars', '${' || k.key || '}', k.field)
                     when k.step = t.name then format('step %s cannot take its own result; leave it out', to_json(k.step))
                     when f.n is null then format('there is no step %s; a step is named by its name', to_json(k.step))
                     when not t.after ? k.step and not exists (select from way w where w.n = k.n and w.name = k.step)
                       then format('step %s takes the result of %s, and does not need it; name %2$s in after', to_json(t.name), to_json(k.step)) end
      from takes k join step t on t.n = k.n left join first f on f.name = k.step
    union all
    select f.n, bellhop.bound_fault(e.v, k.key, k.choices, k.pattern, k.lowest, k.most, k.bytes, k.wrong, k.hint)
      from bellhop.definition_fields(definition) f
      join bellhop.definition_keys() k on k.part = f.part and k.key = f.key and (k.wrong is not null or k.most is not null or k.bytes is not null)
     cross join lateral jsonb_array_elements(case jsonb_typeof(f.v) when 'array' then f.v else jsonb_build_array(f.v) end) e (v)
    union all
    select 0, f from bellhop.sensor_faults(nullif(definition -> 'sensor', 'null'), definition ->> 'workflow') f
    union all
    select 0, case when p !~ '^[A-Za-z_][A-Za-z0-9_]*$' then format('%s cannot be the name of a parameter; letters, digits and _ only', to_json(p))
                   when p = any (builtin) then format('every run has a parameter %s of its own; give it another name', p) end
      from jsonb_object_keys(nullif(definition -> 'parameters', 'null')) p
    union all
    select t.n, format('there is a step %s already, the %s', to_json(t.name), bellhop.ordinal(f.n))
      from step t join first f on f.name = t.name where f.n < t.n
    union all
    select t.n, case when a.name = t.name then format('step %s cannot come after itself; leave it out', to_json(t.name))
                     when f.n is null then format('there is no step %s; a step is named by its name', to_json(a.name))
                     when a.again > 1 then format('%s is named twice; leave it out', to_json(a.name))
                     when f.n > t.n then format('step %s comes after %s, which stands behind it; put %2$s before it, or leave one of them out of after',
                                                to_json(t.name), to_json(a.name)) end
      from step t cross join lateral (
        select l.name, row_number() over (partition by l.name order by l.k) as again from jsonb_array_elements_text(t.after) with ordinality l (name, k)) a
      left join first f on f.name = a.name
    union all
    select t.n, f from step t cross join lateral (values
      (case when t.s ->> 'type' in ('command', 'dummy') then format('a step cannot be of type %s, which no agent runs', t.s ->> 'type') end),
      (case when t.s ->> 'args' is not null and t.s ->> 'msq' is not null then 'a step has args or msq, and not both' end),
      (case when t.s ->> 'msq' ~ e'^\\s*$' then 'the query is empty; leave it out' end),
      (case when t.s ->> 'args' ~ e'[\\n\\r]' then 'there is a line break in the args; args are one line' end)
    ) x (f)
    union all -- Locks that parameters decide are checked when a run is made.
    select x.n, bellhop.lock_fault(regexp_replace(x.t, e'=\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$', '=exclusive'))
      from text x where x.field = 'locks' and split_part(x.t, ':', 1) not like '%${%'
    union all
    select x.n, case when m.part[1] = '${' then '${ without a name and a } behind it: "${"; write ${NAME}, or $${ where the text is to hold ${'
                     else format('there is no parameter %s; name it under parameters, or write $${%1$s} if the text is to hold that', m.part[2]) end
      from text x cross join lateral regexp_matches(x.t, e'(\\$\\$\\{|\\$\\{steps\\.[A-Za-z0-9_.-]+\\.result(?:\\.[^{}.]+)*\\}|\\$\\{([A-Za-z_][A-Za-z0-9_]*)\\}|\\$\\{|\\$|[^$]+)', 'g') m (part)
     where x.t like '%${%'
       and (m.part[1] = '${' or m.part[2] <> all (builtin) and not coalesce(nullif(definition -> 'parameters', 'null') ? m.part[2], false))
    union all
    select 100000 + m.n, f from jsonb_array_elements(nullif(definition -> 'notify', 'null')) with ordinality m (v, n) cross join lateral (
      select format('notify[%s]: %s is not a valid address; write it like ops@example.org', m.n - 1, to_json(a)) from jsonb_array_elements_text(nullif(m.v -> 'mail', 'null')) a
       where a !~ e'^([^@]+|"[^"]*")@[^@\\s]+$|<[^@<>\\s]+@[^@<>\\s]+>$'
      union all
      select case when m.v ->> 'webhook' !~ '^https?://[^/]' then format('notify[%s].webhook: %s is not a valid URL', m.n - 1, m.v -> 'webhook')
                  when m.v ->> 'webhook' ~ '^https?://[^/]*@'
                    then format('notify[%s].webhook: there is a password in it, which every reader of the rule would see', m.n - 1) end
             || '; write it like https://hooks.example.org/bellhop, with a token in its path, if any'
      union all
      select format('notify[%s] names no recipient; write mail: [ops@example.org], webhook: URL or command: [NAME]', m.n - 1)
       where coalesce(m.v ->> 'mail', m.v ->> 'webhook', m.v ->> 'command') is null) y (f)
  )
  select array_agg(case when t.n between 1 and 99999 then format('steps[%s]: %s', t.n - 1, t.text) else t.text end order by t.n) into faults
    from fault t where t.text is not null;
  return coalesce(faults, '{}');
end
$f$;

-- ordinal: 1st, 2nd, 3rd, 4th.
-- Grant: scheduler
create or replace function bellhop.ordinal(n bigint) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select n || case when n % 100 between 11 and 13 then 'th' when n % 10 = 1 then 'st' when n % 10 = 2 then 'nd' when n % 10 = 3 then 'rd' else 'th' end
$$;
