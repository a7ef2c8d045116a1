-- Tables as sensors: an INSERT into such a table starts a workflow, in its own transaction. A trigger of the table
-- records the event: its arguments are the workflow, the table as the definition names it, and the column that names
-- the event. The trigger is created when the definition is applied, by the owner of this function, and only if the
-- caller may read the table and may put triggers on it.

-- table_sensor: the trigger. It fails no INSERT: if the workflow is gone, or waits for something else, nothing is an
-- event; if the column is gone, there is a warning. It keeps to the rules of row_event, for the same reasons.
-- Grant: none
create or replace function bellhop.table_sensor() returns trigger
language plpgsql security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  d      jsonb;
  wanted text[] := tg_argv[2:2];
  given  text[];
begin
  select w.definition into d from bellhop.workflow w
   where w.name = tg_argv[0] and w.active and w.definition -> 'sensor' ->> 'table' = tg_argv[1];
  if not found then
    return null;
  end if;
  -- The catalog only proposes columns. Those that do not exist any more are reported below.
  select wanted || coalesce(array_agg(a.attname::text), '{}') into wanted
    from pg_catalog.pg_attribute a
   where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
     and (d -> 'parameters' ? a.attname::text or d -> 'parameters' ? upper(a.attname::text));
  begin
    execute bellhop.columns_read(wanted) into given using new;
  exception when undefined_column then
    raise warning 'a row of % starts no run of workflow %: %', tg_table_name, tg_argv[0], sqlerrm;
    return null;
  end;
  if given[1] is null then
    raise warning 'a row of % starts no run of workflow %: it has nothing in column %', tg_table_name, tg_argv[0], tg_argv[2];
    return null;
  end if;
  if not bellhop.happened(tg_argv[0], bellhop.row_named(tg_argv[1], given[1]),
                          bellhop.sensor_parameters(d, bellhop.named_texts(wanted[2:], given[2:]))) then
    raise warning 'a row of % starts no run of workflow %: a row with % % has started one before', tg_table_name, tg_argv[0], tg_argv[2], given[1];
    perform bellhop.row_passed_over(tg_argv[0], format('it has passed over a row of %s, since a row with %s %s has started a run before (told once an hour)',
      tg_argv[1], tg_argv[2], regexp_replace(left(given[1], 200), e'[\\n\\r]+', ' ', 'g')));
  end if;
  return null;
end
$$;

-- row_passed_over: a remark for explain_workflow. The transaction is an app's that inserts rows: so this waits for no
-- lock, fails nothing, and writes once an hour however many rows there are. Another transaction that is about to write
-- the remark has the advisory lock. Index: sensor_place's primary key.
-- Grant: none
create or replace function bellhop.row_passed_over(called text, remark text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from bellhop.sensor_place p where p.workflow = called and p.remarked_at > clock_timestamp() - interval '1 h')
     or not pg_try_advisory_xact_lock(hashtextextended('bellhop.row_passed_over ' || called, 0)) then
    return;
  end if;
  begin
    insert into bellhop.sensor_place as p (workflow, remark, remarked_at) values (called, row_passed_over.remark, clock_timestamp())
    on conflict (workflow) do update set remark = excluded.remark, remarked_at = excluded.remarked_at;
  exception when serialization_failure then
    null; -- another transaction has told it since this one began (repeatable read)
  end;
end
$$;

-- watched_table: the table that a sensor names: without a schema it is in public.
-- Grant: scheduler
create or replace function bellhop.watched_table(named text) returns regclass
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select to_regclass(case when named ~ e'^("[^"]+"|[^".]+)\\.' then named else 'public.' || named end)
$$;

-- watch_table: creates the trigger of a workflow's sensor, and drops that of the sensor before. A trigger that cannot
-- be dropped stays, and starts nothing.
-- Grant: scheduler
create or replace function bellhop.watch_table(called text, old jsonb, new jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set lock_timeout = '10s'
as $$
declare
  trig text := 'bellhop_sensor_' || left(md5(called), 16);
  tab  regclass := bellhop.watched_table(new ->> 'table');
  was  regclass := bellhop.watched_table(old ->> 'table');
  key  text := new ->> 'event';
  me   name := bellhop.caller();
begin
  if was is not null and was is distinct from tab then
    begin
      execute format('drop trigger if exists %I on %s', trig, was);
    exception when insufficient_privilege or lock_not_available then null;
    end;
  end if;
  if new ->> 'table' is null then
    return;
  elsif tab is null then
    raise undefined_table using message = format('there is no table %s', new ->> 'table'), hint = 'Write it with its schema, like shop.uploads.';
  elsif (select c.relnamespace in ('bellhop'::regnamespace, 'pg_catalog'::regnamespace) or c.relkind not in ('r', 'p') or c.relpersistence = 't'
           from pg_class c where c.oid = tab) then
    raise wrong_object_type using message = format('%s is not a table of yours', tab), hint = 'Rows of a table that stays can be events.';
  elsif not (has_table_privilege(me, tab, 'select') and has_table_privilege(me, tab, 'trigger'))
     or (select c.relrowsecurity and not pg_has_role(me, c.relowner, 'member') from pg_class c where c.oid = tab) then
    raise insufficient_privilege using message = format('permission denied: %s may not watch table %s', me, tab),
      hint = format('As its owner: grant select, trigger on %s to %I. Where rows are guarded by policies, its owner alone may.', tab, me);
  end if;
  if key is null then
    select min(a.attname) into key from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey::smallint[])
     where i.indrelid = tab and i.indisprimary having count(*) = 1;
    if key is null then
      raise invalid_table_definition using message = format('table %s has no primary key of one column', tab),
        hint = 'Name the column that names the event: sensor: {table: …, event: id}';
    end if;
  elsif not exists (select from pg_attribute a where a.attrelid = tab and a.attname = key and a.attnum > 0 and not a.attisdropped) then
    raise undefined_column using message = format('table %s has no column %I', tab, key);
  end if;
  begin
    execute format('create or replace trigger %I after insert on %s for each row execute function bellhop.table_sensor(%L, %L, %L)',
                   trig, tab, called, new ->> 'table', key);
  exception when insufficient_privilege then
    raise insufficient_privilege using message = format('permission denied: %I, the owner of bellhop, may not put a trigger on table %s', current_user, tab),
      hint = format('As its owner: grant trigger on %s to %I, and usage on its schema.', tab, current_user);
  end;
end
$$;

-- table_watched: whether that trigger is in place.
-- Grant: scheduler
create or replace function bellhop.table_watched(called text, sensor jsonb) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pg_trigger t
                  where t.tgrelid = bellhop.watched_table(sensor ->> 'table') and t.tgname = 'bellhop_sensor_' || left(md5(called), 16))
$$;
