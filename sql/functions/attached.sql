-- The rows of attached tables: what each round does with them.

-- dispatch_value: the value that marks a row as taken in a dispatch column of this type; NULL: no column of this type
-- can be one.
-- Grant: operator scheduler
create or replace function bellhop.dispatch_value(type oid) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  base pg_type;
begin
  select * into base from pg_type t where t.oid = dispatch_value.type;
  while base.typtype = 'd' loop
    select * into base from pg_type t where t.oid = base.typbasetype;
  end loop;
  return case
    when base.oid in ('time'::regtype, 'timetz'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype, 'date'::regtype)
      then format('pg_catalog.clock_timestamp()::%s', format_type(base.oid, null))
    when base.oid = 'bool'::regtype then 'true'
    when base.oid = 'int2'::regtype then '1::pg_catalog.int2'
    when base.oid = 'int4'::regtype then 'least(extract(epoch from pg_catalog.clock_timestamp()), 2147483647)::pg_catalog.int4'
    when base.oid = 'int8'::regtype then 'extract(epoch from pg_catalog.clock_timestamp())::pg_catalog.int8'
    when base.oid in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) then '''dispatched'''
  end;
end
$$;

-- column_of: the name that a column has now, quoted.
-- Grant: operator scheduler
create or replace function bellhop.column_of(rel regclass, attnum smallint, purpose text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  found_name name;
begin
  select a.attname into found_name from pg_attribute a where a.attrelid = rel and a.attnum = column_of.attnum and not a.attisdropped;
  if found_name is null then
    raise undefined_column using message = format('its %s column was dropped', purpose), hint = 'Detach the table, and attach it again.';
  end if;
  return quote_ident(found_name);
end
$$;

-- attached_key: how the key of a row (t) is written as text, and how that text (d.key) is read as a key again, column
-- by column (v).
-- Grant: reader operator scheduler
create or replace function bellhop.attached_key(rel regclass, columns smallint[], out ordering text, out key_text text, out parsed text,
                                                out matches text, out again text, out returned text, out steady boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  names text[];
  types text[];
begin
  select array_agg(bellhop.column_of(rel, k, 'key') order by o),
         array_agg((select format_type(c.atttypid, c.atttypmod) from pg_attribute c where c.attrelid = rel and c.attnum = k) order by o),
         bool_and((select c.atttypid = any (array['int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'text'::regtype, 'varchar'::regtype, 'bool'::regtype,
                                           'pg_catalog.uuid'::regtype, 'pg_catalog.numeric'::regtype]) from pg_attribute c
                    where c.attrelid = rel and c.attnum = k))
    into names, types, steady
    from unnest(columns) with ordinality x (k, o);
  select string_agg('t.' || n, ', ' order by o), string_agg(format('t.%s = v.k%s', n, o), ' and ' order by o), string_agg(format('t.%s as k%s', n, o), ', ' order by o)
    into ordering, matches, returned
    from unnest(names) with ordinality x (n, o);
  if cardinality(columns) = 1 then
    key_text := ordering || '::pg_catalog.text';
    parsed := format(' cross join lateral (select d.key::%s as k1) v', types[1]);
    again := 'v.k1::pg_catalog.text';
  else -- as JSON, which knows arrays, rows and JSON too
    key_text := 'pg_catalog.jsonb_build_array(' || ordering || ')::pg_catalog.text';
    select format(' cross join lateral pg_catalog.jsonb_to_record(pg_catalog.jsonb_build_object(%s)) as v (%s)',
                  string_agg(format('''k%s'', d.key::pg_catalog.jsonb -> %s', o, o - 1), ', ' order by o),
                  string_agg(format('k%s %s', o, t), ', ' order by o)),
           format('pg_catalog.jsonb_build_array(%s)::pg_catalog.text', string_agg('v.k' || o, ', ' order by o))
      into parsed, again
      from unnest(types) with ordinality x (t, o);
  end if;
end
$$;

-- turn_under: one turn in a user's table. It writes the outcomes of rows (done: [{key, state, exit}]), and takes at
-- most n rows whose dispatch column is NULL and whose key is not in busy. The function of the attachment calls it, so
-- it runs with the rights of the login that attached the table, not with ours. Rows that another transaction has locked
-- are left for the next turn. A row that cannot be marked, or whose outcome cannot be written, holds up no others.
-- Returns
--   done     keys whose outcome is written, or that have no row any more
--   take     the rows that were taken
--   aside    keys of rows that ask to be run and could not be marked, and in row_text why
--   refused  keys whose outcome could not be written, and why
--   waiting  as key: how many rows ask to be run and are not taken in this turn, at most 10,001
-- The statements on the table run under the search_path of the login that attached it, for its triggers; all else does
-- not. The text of a key must not depend on the session: by it two instances know that a row runs.
-- Grant: operator scheduler
create or replace function bellhop.turn_under(theirs text, attachment bigint, done jsonb, n integer, busy text[])
returns table (what text, key text, line text, row_text text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC' set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1
set lc_monetary = 'C' set quote_all_identifiers = off
as $$
#variable_conflict use_column
declare
  most     constant integer := 100; -- rows that are set aside in one turn
  a        bellhop.attachment;
  ky       record;
  tab      text;
  dispatch text;
  value    text;
  status   text;
  exit_    text;
  pairs    text := 'null::pg_catalog.text';
  find     text;
  change   text;
  tids     tid[];
  tabs     oid[];
  states   text[];
  exits    integer[];
  found_   text[];          -- the keys of tids
  got      text[];          -- what a statement has changed
  got_l    text[];
  got_r    text[];
  undone   boolean;
  written  text[] := '{}';
  taken    text[] := '{}';
  lines    text[] := '{}';
  rows_    text[] := '{}';
  bad      text[] := '{}';  -- keys of rows that cannot be changed
  why      text[] := '{}';
  lows     integer[];       -- parts of tids that are still to be changed
  highs    integer[];
  low      integer;
  high     integer;
  before   integer;
  waiting  bigint;
  one      text;
begin
  select * into a from bellhop.attachment x where x.id = turn_under.attachment;
  if not exists (select from pg_class c where c.oid = a.rel::oid) then
    raise undefined_table using message = 'its table was dropped', hint = format('bellhop detach %s', a.name);
  end if;
  -- The key does not tell rows of inheriting tables apart, and they ring no bell: those rows belong to the children.
  tab := case (select c.relkind from pg_class c where c.oid = a.rel::oid) when 'r' then 'only ' else '' end || a.rel::text;
  dispatch := bellhop.column_of(a.rel, a.dispatch_column, 'dispatch');
  status := case when a.status_column is not null then bellhop.column_of(a.rel, a.status_column, 'status') end;
  exit_ := case when a.exit_column is not null then bellhop.column_of(a.rel, a.exit_column, 'exit') end;
  select bellhop.dispatch_value(c.atttypid) into value from pg_attribute c where c.attrelid = a.rel and c.attnum = a.dispatch_column;
  if value is null then
    raise datatype_mismatch using message = 'its dispatch column has a type now that it cannot have';
  end if;
  select * into ky from bellhop.attached_key(a.rel, a.key_columns);
  -- A transaction that alters the table, or makes an index on it, is not mistaken for a row that cannot be changed.
  execute format('lock table %s in row exclusive mode', tab);

  -- 1. The outcomes of rows.
  if jsonb_array_length(done) > 0 and (status is not null or exit_ is not null) then
    find := format('select array_agg(x.c), array_agg(x.o), array_agg(x.key), array_agg(x.state), array_agg(x.exit) from (
                      select t.ctid as c, t.tableoid as o, d.key, d.state, d.exit
                        from pg_catalog.jsonb_to_recordset($1) as d (key pg_catalog.text, state pg_catalog.text, exit pg_catalog.int4)
                       %s join %s t on %s for update of t skip locked) x', ky.parsed, tab, ky.matches);
    perform set_config('search_path', theirs, true);
    begin
      execute find into tids, tabs, found_, states, exits using done;
    exception when data_exception then -- a key that does not parse any more: its column has another type now
      for one in select d.key from pg_catalog.jsonb_to_recordset(done) as d (key pg_catalog.text) loop
        begin
          execute pg_catalog.format('select from (select $1 as key) d %s where (%s) is null', ky.parsed, ky.again) using one;
        exception when data_exception then
          return query select 'done'::pg_catalog.text, one, null::pg_catalog.text, null::pg_catalog.text;
          done := (select coalesce(pg_catalog.jsonb_agg(e), '[]') from pg_catalog.jsonb_array_elements(done) e where e ->> 'key' <> one);
        end;
      end loop;
      execute find into tids, tabs, found_, states, exits using done;
    end;
    change := pg_catalog.format('update %s t set %s
                        from (select pg_catalog.unnest($1) as c, pg_catalog.unnest($2) as o, pg_catalog.unnest($3) as state, pg_catalog.unnest($4) as exit) d
                       where t.ctid = any ($1) and t.ctid = d.c and t.tableoid = d.o',
                     tab, pg_catalog.concat_ws(', ', status || ' = d.state', exit_ || ' = d.exit'));
    lows := array[1];
    highs := array[pg_catalog.cardinality(tids)];
    while tids is not null and pg_catalog.cardinality(lows) > 0 and pg_catalog.cardinality(bad) < most loop
      low := lows[pg_catalog.cardinality(lows)];
      high := highs[pg_catalog.cardinality(highs)];
      lows := lows[1:pg_catalog.cardinality(lows) - 1];
      highs := highs[1:pg_catalog.cardinality(highs) - 1];
      begin
        execute change using tids[low:high], tabs[low:high], states[low:high], exits[low:high];
        get diagnostics before = row_count;
        if before <> high - low + 1 then
          raise exception 'a BEFORE trigger gave NULL for it, or a rule came between: its outcome is not written';
        end if;
        set constraints all immediate; -- an error here tells which row is at fault
        written := written || found_[low:high];
      exception when others then
        if sqlstate ~ '^(08|25|40|53|57|58)' then
          raise;
        end if;
        if low < high then
          lows := lows || ((low + high) / 2 + 1) || low;
          highs := highs || high || (low + high) / 2;
          perform pg_catalog.set_config('lock_timeout', '100ms', true);
        else
          bad := bad || found_[low];
          why := why || sqlerrm;
        end if;
      end;
    end loop;
    return query execute pg_catalog.format('select ''done''::pg_catalog.text, d.key, null::pg_catalog.text, null::pg_catalog.text
                                   from pg_catalog.jsonb_to_recordset($1) as d (key pg_catalog.text)
                                  where d.key = any ($2) or not exists (select from (select d.key) as d %s join %s t on %s)', ky.parsed, tab, ky.matches)
          using done, written;
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    return query select 'refused'::text, x.b, null::text, x.w from unnest(bad, why) x (b, w);
    -- A row that another transaction has locked: its outcome comes first, its next run after that.
    busy := busy || array(select d.key from jsonb_to_recordset(done) as d (key text) where d.key <> all (written));
  else
    return query select 'done'::text, d.key, null::text, null::text from jsonb_to_recordset(done) as d (key text);
  end if;

  -- 2. How many rows ask to be run: counted once a second.
  if coalesce(a.waiting_at < clock_timestamp() - interval '1 s', true) then
    execute format('select pg_catalog.count(*) from (select from %s t where t.%s is null limit 10001) x', tab, dispatch) into waiting;
    return query select 'waiting'::text, greatest(waiting - greatest(n, 0), 0)::text, null::text, null::text;
  end if;

  -- 3. Rows to run.
  if n <= 0 then
    return;
  end if;
  if not ky.steady and busy <> '{}' then
    -- Jobs that an earlier version made are known by the text that the key had under the settings of its session.
    begin
      execute format('select array_agg(%s) from unnest($1) d (key) %s', ky.again, ky.parsed) into found_ using busy;
      busy := busy || found_;
    exception when data_exception then
      null;
    end;
  end if;
  if a.type is not null then -- an item: name="value" pairs, as the rows of a query are
    select format('pg_catalog.array_to_string(array[%s]::pg_catalog.text[], '' '')', string_agg(
             format(e'%L || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(t.%I::pg_catalog.text, e''\\\\'', e''\\\\\\\\''), ''"'', e''\\\\"''), e''\\n'', e''\\\\n''), e''\\r'', e''\\\\r'') || ''"''',
                    translate(c.attname, e'\n\r', '  ') || '="', c.attname), ', ' order by c.attnum))
      into pairs
      from pg_attribute c
     where c.attrelid = a.rel and c.attnum > 0 and not c.attisdropped
       and c.attnum <> all (array_remove(array[a.dispatch_column, a.status_column, a.exit_column], null));
    pairs := coalesce(pairs, '''''::pg_catalog.text');
  end if;
  find := format('select array_agg(x.c), array_agg(x.o), array_agg(x.k) from (
                    select t.ctid as c, t.tableoid as o, %1$s as k from %2$s t
                     where t.%3$s is null and (%1$s) is not null and (%1$s) <> all ($1)
                     order by %4$s limit $2 for update skip locked) x', ky.key_text, tab, dispatch, ky.ordering);
  change := format('with mine as (
        update %1$s t set %2$s
         where t.ctid = any ($1) and exists (select from (select pg_catalog.unnest($1) as c, pg_catalog.unnest($2) as o) d where d.c = t.ctid and d.o = t.tableoid)
        returning %3$s as key, %4$s as line, pg_catalog.to_jsonb(t.*)::pg_catalog.text as row_text, t.%5$s is null as undone, %6$s)
      select pg_catalog.array_agg(m.key order by %7$s), pg_catalog.array_agg(m.line order by %7$s), pg_catalog.array_agg(m.row_text order by %7$s),
             pg_catalog.bool_or(m.undone)
        from mine m',
    tab, concat_ws(', ', dispatch || ' = ' || value, status || ' = null', exit_ || ' = null'), ky.key_text, pairs, dispatch,
    ky.returned,
    (select string_agg('m.k' || o, ', ') from generate_series(1, cardinality(a.key_columns)) o));
  bad := '{}';
  why := '{}';
  perform set_config('search_path', theirs, true);
  loop
    before := pg_catalog.cardinality(bad);
    execute find into tids, tabs, found_ using busy, n - pg_catalog.cardinality(taken);
    exit when tids is null;
    busy := busy || found_;
    lows := array[1];
    highs := array[pg_catalog.cardinality(tids)];
    while pg_catalog.cardinality(lows) > 0 and pg_catalog.cardinality(bad) < most loop
      low := lows[pg_catalog.cardinality(lows)];
      high := highs[pg_catalog.cardinality(highs)];
      lows := lows[1:pg_catalog.cardinality(lows) - 1];
      highs := highs[1:pg_catalog.cardinality(highs) - 1];
      begin
        execute change into got, got_l, got_r, undone using tids[low:high], tabs[low:high];
        if coalesce(pg_catalog.cardinality(got), 0) <> high - low + 1 then
          raise exception 'a BEFORE trigger gave NULL for it, or a rule came between: it cannot be marked as taken';
        elsif undone then
          raise exception 'a BEFORE trigger has set its dispatch column to NULL again: it cannot be marked as taken';
        elsif got <> found_[low:high] and (got && (busy || taken) or (select pg_catalog.count(distinct g) < pg_catalog.count(*) from pg_catalog.unnest(got) g)) then
          raise exception 'a BEFORE trigger has given it the key of another row';
        end if;
        set constraints all immediate;
        taken := taken || got;
        lines := lines || got_l;
        rows_ := rows_ || got_r;
      exception when others then
        if sqlstate ~ '^(08|25|40|53|57|58)' then
          raise;
        end if;
        if low < high then
          lows := lows || ((low + high) / 2 + 1) || low;
          highs := highs || high || (low + high) / 2;
          perform pg_catalog.set_config('lock_timeout', '100ms', true);
        else
          bad := bad || found_[low];
          why := why || sqlerrm;
        end if;
      end;
    end loop;
    exit when pg_catalog.cardinality(bad) in (before, most) or pg_catalog.cardinality(taken) >= n;
  end loop;
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  return query select 'take'::text, x.k, x.l, x.r from unnest(taken, lines, rows_) x (k, l, r);
  return query select 'aside'::text, x.b, null::text, x.w from unnest(bad, why) x (b, w);
end
$$;

-- turn_rows: the front of turn_under, parsed when it is made (see attach.sql), under the path of the login that
-- attached the table.
-- Grant: operator scheduler
create or replace function bellhop.turn_rows(attachment bigint, done jsonb, n integer, busy text[])
returns table (what text, key text, line text, row_text text)
language sql volatile
begin atomic
  select t.what, t.key, t.line, t.row_text
    from bellhop.turn_under(pg_catalog.current_setting('search_path'), attachment, done, n, busy) t;
end;

-- job_key: the key of a row's job in the queue.
-- Grant: reader operator scheduler
create or replace function bellhop.row_job_key(name text, key text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when length(name) + length(key) < 900 then name || '/' || key else left(name || '/' || key, 900) || '…' || md5(key) end
$$;
