-- row_event: a row of any table is an event. It is a trigger of that table: after insert, for each row. The arguments
-- are the workflow, the column whose value names the event, and columns that are parameters of the run, if the workflow
-- has one of that name, or of that name in capitals. It acts in the transaction of the INSERT: a row that is rolled
-- back was no event, and a row without a key is none. It fails an INSERT only if the trigger itself is wrong, whatever
-- the definition says.
--
-- This function has its owner's rights, because a role that inserts into such a table needs none on bellhop's schema. The table, its
-- types, casts and domains belong to others, so three rules hold for each trigger function that others may have on their tables
-- (TestSafety_TriggersOnOthersTables reads the bodies):
--   - NEW is never looked into here. Columns are read by name, as text, by the one statement that bellhop.columns_read makes.
--   - Each table is named with its schema: a trigger's transition table may have any name, and hides an unqualified one.
--   - Nothing depends on what the catalogs say of a column: a transaction may see them as they were before an ALTER TABLE.
-- Grant: submitter operator scheduler
create or replace function bellhop.row_event() returns trigger
language plpgsql security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  wanted text[] := tg_argv[1:];
  given  text[];
  d      jsonb;
begin
  if tg_nargs < 2 then
    raise invalid_parameter_value using message = format('trigger %s says neither which workflow nor which column', tg_name),
      hint = 'execute function bellhop.row_event(''workflow'', ''id'')';
  elsif tg_level <> 'ROW' or tg_op not in ('INSERT', 'UPDATE') then
    raise warning 'trigger % of table % starts no run: it fires on % for each %, and a new row is an event', tg_name, tg_table_name, tg_op, lower(tg_level);
    return null;
  end if;
  begin
    execute bellhop.columns_read(wanted) into given using new;
  exception when undefined_column then
    raise undefined_column using message = format('table %s has no column that trigger %s names: %s', tg_table_name, tg_name, sqlerrm),
      hint = 'Its arguments are a workflow, the column that names the event, and columns that are parameters.';
  end;
  select w.definition into d from bellhop.workflow w where w.name = tg_argv[0] and w.active;
  if not found then
    return null;
  elsif given[1] is null then
    raise warning 'a row of % starts no run of workflow %: it has nothing in column %', tg_table_name, tg_argv[0], tg_argv[1];
    return null;
  end if;
  if not bellhop.happened(tg_argv[0], bellhop.row_named(tg_table_schema || '.' || tg_table_name, given[1]),
                          bellhop.sensor_parameters(d, bellhop.named_texts(wanted[2:], given[2:]))) and tg_op = 'INSERT' then
    raise warning 'a row of % starts no run of workflow %: a row with % % has started one before', tg_table_name, tg_argv[0], tg_argv[1], given[1];
  end if;
  return null;
end
$$;

-- columns_read: a statement that returns the values of these columns of the row $1, each as text. It runs with the
-- rights of bellhop's owner over rows of others, so it calls only PostgreSQL's own functions. A value of a type that
-- came with the server is read as in JSON (true, 2026-11-25T02:00:00, [1, 2]). For any other type JSON would look for a
-- cast, and a cast is code of its owner. Such a value is in its type's text form instead, which its output function
-- writes: only superusers make those. A domain's CHECK and an enum's or a range's functions are no part of that. The
-- value itself gives the type, not the catalogs.
-- Grant: none
create or replace function bellhop.columns_read(names text[]) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  texts  text[] := '{}';
  called text;
begin
  foreach called in array names loop
    texts := texts || format('case when num_nulls(($1).%1$I) > 0 then null'
      ' when pg_typeof(($1).%1$I)::oid < 16384 or bellhop.made_of_the_servers(pg_typeof(($1).%1$I)) then to_jsonb(($1).%1$I) #>> ''{}'''
      ' else format(''%%s'', ($1).%1$I) end', called);
  end loop;
  return 'select array[' || array_to_string(texts, ', ') || ']::text[]';
end
$$;

-- made_of_the_servers: whether a type came with PostgreSQL, or is a domain or an array of one that did. Later types
-- never have an oid below 16384, and the base of a domain or an array never changes.
-- Grant: none
create or replace function bellhop.made_of_the_servers(type oid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  base oid := made_of_the_servers.type;
begin
  while base >= 16384 loop
    select case p.typtype when 'd' then p.typbasetype else p.typelem end into base
      from pg_catalog.pg_type p
     where p.oid = base and (p.typtype = 'd' or p.typcategory = 'A' and p.typlen = -1 and p.typelem <> 0);
  end loop;
  return coalesce(base > 0, false);
end
$$;

-- named_texts: an object of these names and values.
-- Grant: none
create or replace function bellhop.named_texts(names text[], given text[]) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(x.name, x.given), '{}') from unnest(names, given) x (name, given)
$$;

-- row_named: the unique name of the event of a row with this key; a sum stands for the end of a long name.
-- Grant: scheduler
create or replace function bellhop.row_named(source text, key text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when length(x.name) <= 200 then x.name else left(x.name, 160) || ' ' || md5(x.name) end from (select source || '=' || key) x (name)
$$;
