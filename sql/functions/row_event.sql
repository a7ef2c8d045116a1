-- row_event: a row of any table is an event. As a trigger of that table: after insert, for each row; the arguments are the workflow, the
-- column whose value names the event, and columns that are parameters of the run, under their names in capitals. In the
-- transaction of whoever inserts: a row that is rolled back was no event. It never fails an INSERT but where the trigger is wrong.
create or replace function bellhop.row_event() returns trigger
language plpgsql security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  columns jsonb := to_jsonb(new);
  given   jsonb := '{}';
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
  foreach c in array tg_argv[2:] loop
    if columns ->> c is not null then
      given := given || jsonb_build_object(upper(c), columns ->> c);
    end if;
  end loop;
  perform bellhop.workflow_event(tg_argv[0], left(tg_table_name || '=' || coalesce(columns ->> tg_argv[1], ''), 200), given);
  return null;
end
$$;

revoke all on function bellhop.row_event from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant execute on function bellhop.row_event to bellhop_submitter, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
