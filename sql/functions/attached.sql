-- What is done with the rows of attached tables, once a round.

-- dispatch_value: what a dispatch column of a type is set to when its row is taken; NULL: it cannot be one.
create or replace function bellhop.dispatch_value(type oid) returns text
language plpgsql stable
set search_path = pg_catalog
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
create or replace function bellhop.column_of(rel regclass, attnum smallint, purpose text) returns text
language plpgsql stable
set search_path = pg_catalog
as $$
declare
  found_name name;
begin
  select a.attname into found_name from pg_attribute a where a.attrelid = rel and a.attnum = column_of.attnum and not a.attisdropped;
  if found_name is null then
    raise undefined_column using message = format('its %s column was dropped', purpose), hint = 'Detach the table, and attach it anew.';
  end if;
  return quote_ident(found_name);
end
$$;

-- turn_rows: what one turn does in a user's table: writes what became of rows (done: [{key, state, exit}]), and takes
-- at most n whose dispatch column is NULL, none of which is in busy. Called by the function of the attachment, so with
-- the rights of whoever attached it, and not with ours. Rows that somebody has locked are left for the next turn.
-- Gives the keys whose outcome is written or has no row any more ('done'), and the rows that were taken ('take').
-- The statements on the table run under the search_path of whoever attached it, for his triggers; all else does not.
create or replace function bellhop.turn_rows(attachment bigint, done jsonb, n integer, busy text[])
returns table (what text, key text, line text, row_text text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  theirs   text := pg_catalog.current_setting('search_path');
  a        bellhop.attachment;
  tab      text;
  dispatch text;
  value    text;
  status   text;
  exit_    text;
  key_text text;
  matches  text;
  ordering text;
  pairs    text := 'null::pg_catalog.text';
  changes  text;
  tids     tid[];
  tabs     oid[];
  states   text[];
  exits    integer[];
  written  text[];
begin
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);
  select * into a from bellhop.attachment x where x.id = turn_rows.attachment;
  if not exists (select from pg_class c where c.oid = a.rel::oid) then
    raise undefined_table using message = 'its table was dropped', hint = format('bellhop detach %s', a.name);
  end if;
  tab := a.rel::text;
  dispatch := bellhop.column_of(a.rel, a.dispatch_column, 'dispatch');
  status := case when a.status_column is not null then bellhop.column_of(a.rel, a.status_column, 'status') end;
  exit_ := case when a.exit_column is not null then bellhop.column_of(a.rel, a.exit_column, 'exit') end;
  select bellhop.dispatch_value(c.atttypid) into value from pg_attribute c where c.attrelid = a.rel and c.attnum = a.dispatch_column;
  if value is null then
    raise datatype_mismatch using message = 'its dispatch column has a type now that it cannot have';
  end if;
  select string_agg('t.' || bellhop.column_of(a.rel, k, 'key'), ', ' order by o) into ordering from unnest(a.key_columns) with ordinality x (k, o);
  if cardinality(a.key_columns) = 1 then
    key_text := ordering || '::pg_catalog.text';
  else
    key_text := 'pg_catalog.jsonb_build_array(' || ordering || ')::pg_catalog.text';
  end if;
  select string_agg(format('t.%I = (%s)::%s', c.attname,
                           case when cardinality(a.key_columns) = 1 then 'd.key' else format('d.key::pg_catalog.jsonb ->> %s', o - 1) end,
                           format_type(c.atttypid, c.atttypmod)), ' and ' order by o)
    into matches
    from unnest(a.key_columns) with ordinality x (k, o) join pg_attribute c on c.attrelid = a.rel and c.attnum = x.k;

  -- 1. What became of rows.
  if jsonb_array_length(done) > 0 and (status is not null or exit_ is not null) then
    perform set_config('search_path', theirs, true);
    execute format('select array_agg(x.c), array_agg(x.o), array_agg(x.key), array_agg(x.state), array_agg(x.exit) from (
                      select t.ctid as c, t.tableoid as o, d.key, d.state, d.exit
                        from pg_catalog.jsonb_to_recordset($1) as d (key pg_catalog.text, state pg_catalog.text, exit pg_catalog.int4)
                        join %s t on %s for update of t skip locked) x', tab, matches)
       into tids, tabs, written, states, exits using done;
    if tids is not null then
      execute format('update %s t set %s
                        from (select unnest($1) as c, unnest($2) as o, unnest($3) as state, unnest($4) as exit) d
                       where t.ctid = any ($1) and t.ctid = d.c and t.tableoid = d.o',
                     tab, concat_ws(', ', status || ' = d.state', exit_ || ' = d.exit')) using tids, tabs, states, exits;
    end if;
    perform pg_catalog.set_config('search_path', theirs, true);
    return query execute format('select ''done''::pg_catalog.text, d.key, null::pg_catalog.text, null::pg_catalog.text
                                   from pg_catalog.jsonb_to_recordset($1) as d (key pg_catalog.text)
                                  where d.key = any ($2) or not exists (select from %s t where %s)', tab, matches)
          using done, coalesce(written, '{}');
    perform pg_catalog.set_config('search_path', 'pg_catalog', true);
    -- A row that somebody has in hand: its outcome comes first, its next run after that.
    busy := busy || array(select d.key from jsonb_to_recordset(done) as d (key text) where d.key <> all (coalesce(written, '{}')));
  else
    return query select 'done'::text, d.key, null::text, null::text from jsonb_to_recordset(done) as d (key text);
  end if;

  -- 2. Rows to run.
  if n <= 0 then
    return;
  end if;
  if a.type is not null then -- an item: name="value" pairs, as the rows of a query are
    select format('pg_catalog.array_to_string(array[%s]::pg_catalog.text[], '' '')', string_agg(
             format('%L || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(t.%I::pg_catalog.text, e''\\'', e''\\\\''), ''"'', e''\\"''), e''\n'', e''\\n''), e''\r'', e''\\r'') || ''"''',
                    translate(c.attname, e'\n\r', '  ') || '="', c.attname), ', ' order by c.attnum))
      into pairs
      from pg_attribute c
     where c.attrelid = a.rel and c.attnum > 0 and not c.attisdropped
       and c.attnum <> all (array_remove(array[a.dispatch_column, a.status_column, a.exit_column], null));
    pairs := coalesce(pairs, '''''::pg_catalog.text');
  end if;
  changes := concat_ws(', ', dispatch || ' = ' || value, status || ' = null', exit_ || ' = null');
  perform set_config('search_path', theirs, true);
  execute format('select array_agg(x.c), array_agg(x.o) from (
                    select t.ctid as c, t.tableoid as o from %s t
                     where t.%s is null and (%s) is not null and (%s) <> all ($1)
                     order by %s limit $2 for update skip locked) x', tab, dispatch, key_text, key_text, ordering)
     into tids, tabs using busy, n;
  if tids is not null then
    return query execute format('with mine as (
        update %s t set %s
         where t.ctid = any ($1) and exists (select from (select unnest($1) as c, unnest($2) as o) d where d.c = t.ctid and d.o = t.tableoid)
        returning %s as key, %s as line, pg_catalog.to_jsonb(t.*)::pg_catalog.text as row_text, %s)
      select ''take''::pg_catalog.text, m.key, m.line, m.row_text from mine m order by %s',
      tab, changes, key_text, pairs,
      (select string_agg(format('%s as k%s', k, o), ', ') from regexp_split_to_table(ordering, ', (?=t\.)') with ordinality x (k, o)),
      (select string_agg('m.k' || o, ', ') from generate_series(1, cardinality(a.key_columns)) o)) using tids, tabs;
  end if;
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);
end
$$;

-- job_key: the key of a row's job in the queue.
create or replace function bellhop.row_job_key(name text, key text) returns text
language sql immutable
set search_path = pg_catalog
as $$
  select case when length(name) + length(key) < 900 then name || '/' || key else left(name || '/' || key, 900) || '…' || md5(key) end
$$;

-- take_attached: one turn of an attachment, in one transaction: rows whose job is over get their outcome and free a
-- place; as many rows as there are places become ready jobs. One instance at a time; others leave it to that one.
-- Index: attached_live; attached's primary key; jobqueue's.
create or replace function bellhop.take_attached(id bigint, out taken integer, out ended integer)
language plpgsql volatile
set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
  a     bellhop.attachment;
  done  jsonb;
  busy  text[];
  whats text[];
  keys  text[];
  lines text[];
  rows_ text[];
  mark  bytea;
  known bigint;
  was   bellhop.jobqueue;
  again boolean := false;
begin
  taken := 0;
  ended := 0;
  select * into a from bellhop.attachment x where x.id = take_attached.id for update skip locked;
  if not found then
    return;
  end if;
  perform set_config('lock_timeout', '2s', true); -- somebody alters the table: it is not waited for
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'state', coalesce(j.state, 'cancelled'), 'exit', j.exit_code))
                    filter (where j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')), '[]'),
         coalesce(array_agg(x.key) filter (where j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')), '{}')
    into done, busy
    from bellhop.attached x
    left join bellhop.jobqueue j on j.id = x.job
   where x.attachment = a.id and x.live;
  if not exists (select from pg_proc p where p.pronamespace = 'bellhop_attached'::regnamespace and p.proname = 'turn_' || a.id) then
    raise undefined_function using message = 'its function was dropped', hint = 'Detach the table, and attach it anew.';
  end if;
  execute format('select array_agg(t.what order by t.o), array_agg(t.key order by t.o), array_agg(t.line order by t.o), array_agg(t.row_text order by t.o)
                    from bellhop_attached.%I($1, $2, $3) with ordinality t (what, key, line, row_text, o)', 'turn_' || a.id)
     into whats, keys, lines, rows_ using done, a.pool - cardinality(busy), busy;
  -- That was somebody else's code, and may have set what it liked.
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);

  for i in 1 .. coalesce(cardinality(whats), 0) loop
    mark := sha256(convert_to(keys[i], 'UTF8'));
    if whats[i] = 'done' then
      update bellhop.attached x set live = false where x.attachment = a.id and x.digest = mark and keys[i] <> all (busy);
      ended := ended + 1;
      continue;
    end if;
    if keys[i] = any (busy) or cardinality(busy) >= a.pool then
      raise data_exception using message = 'its function gave rows that it was not asked for';
    end if;
    busy := busy || keys[i];
    taken := taken + 1;
    known := null;
    select x.job into known from bellhop.attached x where x.attachment = a.id and x.digest = mark;
    select * into was from bellhop.jobqueue j where j.id = known and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') for update;
    if found then
      if was.attempt > 0 and was.started_at is not null then
        insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes)
        select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
               was.exit_code, was.error, was.successes
         where not exists (select from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
      end if;
      update bellhop.jobqueue j
         set state = 'ready', type = coalesce(a.type, 'attachment'), args = coalesce(lines[i], translate(keys[i], e'\n\r', '  ')),
             held = false, run_at = null, max_attempts = j.attempt + 1,
             ended_at = null, exit_code = null, error = null, waiting_for = null, successes = null, instance = null, host = null, child = null,
             deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null
       where j.id = known;
      again := true;
    elsif not exists (select from bellhop.jobqueue j where j.id = known) then
      known := null;
      -- A key that somebody else's job has is no reason not to run.
      for try in 1 .. 3 loop
        insert into bellhop.jobqueue as j (type, args, key)
        values (coalesce(a.type, 'attachment'), coalesce(lines[i], translate(keys[i], e'\n\r', '  ')),
                case try when 1 then bellhop.row_job_key(a.name, keys[i]) when 2 then bellhop.row_job_key(a.name, keys[i]) || '@' || a.id end)
        on conflict (key) where j.key is not null do nothing
        returning j.id into known;
        exit when known is not null;
      end loop;
    end if;
    insert into bellhop.attached as x (attachment, digest, key, job, live, row_text) values (a.id, mark, keys[i], known, true, rows_[i])
    on conflict (attachment, digest) do update set job = excluded.job, live = true, row_text = excluded.row_text;
  end loop;
  -- Whoever takes rows looks at the queue by himself. Other instances hear of jobs that came from an INSERT; of those that
  -- were there before only here, also when they are awake: they may look at what is new alone.
  if again and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) x) > 1 then
    perform pg_notify('bellhop', '');
  end if;
  update bellhop.attachment x set state = 'ok', trouble = null, state_since = clock_timestamp() where x.id = a.id and x.state <> 'ok';
end
$$;

revoke all on function bellhop.dispatch_value, bellhop.column_of, bellhop.turn_rows, bellhop.row_job_key, bellhop.take_attached from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant execute on function bellhop.dispatch_value, bellhop.column_of, bellhop.turn_rows, bellhop.row_job_key to bellhop_operator;
    grant execute on function bellhop.dispatch_value, bellhop.column_of, bellhop.turn_rows, bellhop.row_job_key, bellhop.take_attached to bellhop_scheduler;
    grant execute on function bellhop.row_job_key to bellhop_reader;
  end if;
end
$$;
