-- row_event: a row of any table is an event. As a trigger of that table: after insert, for each row; the arguments are the workflow, the
-- column whose value names the event, and columns that are parameters of the run, where the workflow has one of that name, or of that
-- in capitals. In the transaction of whoever inserts: a row that is rolled back was no event, and one without a key is none. It never
-- fails an INSERT but where the trigger is wrong, whatever the definition says.
create or replace function bellhop.row_event() returns trigger
language plpgsql security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  columns jsonb := to_jsonb(new);
  chosen  jsonb;
  d       jsonb;
  c       text;
begin
  if tg_nargs < 2 then
    raise invalid_parameter_value using message = format('trigger %s says neither which workflow nor which column', tg_name),
      hint = 'execute function bellhop.row_event(''workflow'', ''id'')';
  end if;
  foreach c in array tg_argv[1:] loop
    if not columns ? c then
      raise undefined_column using message = format('table %s has no column %I, which trigger %s names', tg_table_name, c, tg_name),
        hint = 'Its arguments are a workflow, the column that names the event, and columns that are parameters.';
    end if;
  end loop;
  select w.definition into d from bellhop.workflow w where w.name = tg_argv[0] and w.active;
  if not found then
    return null;
  elsif columns ->> tg_argv[1] is null then
    raise warning 'a row of % starts no run of workflow %: it has nothing in column %', tg_table_name, tg_argv[0], tg_argv[1];
    return null;
  end if;
  select jsonb_object_agg(k.key, columns -> k.key) into chosen from unnest(tg_argv[2:]) k (key);
  perform bellhop.happened(tg_argv[0], bellhop.row_named(tg_table_schema || '.' || tg_table_name, columns ->> tg_argv[1]),
                           bellhop.sensor_parameters(d, chosen));
  return null;
end
$$;

-- row_named: the name of the event that a row with this key is, once; what is cut off of a long one is told by a sum.
create or replace function bellhop.row_named(source text, key text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when length(x.name) <= 200 then x.name else left(x.name, 160) || ' ' || md5(x.name) end from (select source || '=' || key) x (name)
$$;

revoke all on function bellhop.row_event, bellhop.row_named from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant execute on function bellhop.row_named to bellhop_scheduler;
    grant execute on function bellhop.row_event to bellhop_submitter, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
