-- attach, detach, and the looks at attachments. All three run with the caller's rights: what the caller may not do,
-- they do not do for it.
--
-- The names of users' tables mean what they mean to the caller, so each function has a front that sets no search_path.
-- A front is parsed when it is made (begin atomic), so a call cannot mistake a name in it for another one. It hands the
-- caller's path on to a function whose own path is fixed.

-- attached_column: the number of a column of a table, checked.
-- Grant: operator
create or replace function bellhop.attached_column(tab regclass, col text, purpose text) returns smallint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  n smallint;
begin
  select a.attnum into n from pg_attribute a where a.attrelid = tab and a.attname = col and a.attnum > 0 and not a.attisdropped and a.attgenerated = '';
  if n is null then
    raise undefined_column using message = format('table %s has no column %I that could be the %s column', tab, col, purpose),
      hint = format('It has: %s.', (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a where a.attrelid = tab and a.attnum > 0 and not a.attisdropped));
  end if;
  return n;
end
$$;

-- turn_statements: the statements that make the function of an attachment; none where a suitable function exists. The
-- function belongs to the login that attached the table, and so has the rights of that login. Its name comes from the
-- row's default and cannot be guessed: a login that made a function of that name beforehand would keep others from
-- attaching.
-- Grant: operator
create or replace function bellhop.turn_statements(attachment bigint) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  called text;
  may    text[];
  it     regprocedure;
begin
  select format('bellhop_attached.%I', x.turn) into called from bellhop.attachment x where x.id = turn_statements.attachment;
  it := to_regprocedure(called || '(jsonb, int4, text[])');
  may := array(select r.rolname from pg_roles r
                where r.rolname in ('bellhop_attach', 'bellhop_scheduler') or r.oid = (select q.relowner from pg_class q where q.oid = 'bellhop.jobqueue'::regclass));
  if it is not null and (select p.prosecdef and p.proowner = (select r.oid from pg_roles r where r.rolname = current_user) from pg_proc p where p.oid = it)
     and not exists (select from unnest(may) r where not has_function_privilege(r, it, 'execute')) then
    return '{}';
  end if;
  return array[
    format($f$create or replace function %1$s(done pg_catalog.jsonb, n pg_catalog.int4, busy pg_catalog.text[])
  returns table (what pg_catalog.text, key pg_catalog.text, line pg_catalog.text, row_text pg_catalog.text)
  language sql volatile security definer set search_path from current set row_security = off
  as 'select * from bellhop.turn_rows(%2$s, done, n, busy)'$f$, called, attachment),
    format('revoke all on function %s(jsonb, int4, text[]) from public', called)]
    || array(select format('grant execute on function %s(jsonb, int4, text[]) to %I', called, r) from unnest(may) r);
end
$$;

-- carry_out: executes statements under the caller's path, which becomes the path of a function that they make: the
-- table's triggers expect no other. Temporary tables come last in it, not first.
-- Grant: operator
create or replace function bellhop.carry_out(statements text[], their_path text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  step text;
begin
  if not exists (select from regexp_split_to_table(their_path, ',') x where btrim(x) in ('pg_temp', '"pg_temp"')) then
    their_path := concat_ws(', ', nullif(their_path, ''), 'pg_temp');
  end if;
  foreach step in array statements loop
    perform pg_catalog.set_config('search_path', their_path, true);
    execute step;
  end loop;
end
$$;

-- attach: runs the rows of tab whose dispatch column is NULL from now on: as jobs of a type, each a line name="value"
-- …, or by a command whose last argument is the row's key. For a table that is attached already it changes the pool, or
-- names what differs. Returns the attachment's id and the statements that were carried out.
-- Grant: operator
create or replace function bellhop.attach_under(
  their_path text, visible boolean, tab regclass, type text, cmd text[], pool integer, workdir text,
  log_dir text, key text[], dispatch text, status_col text, exit_col text, index boolean, name text,
  out id bigint, out statements text[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  c          pg_class;
  old        bellhop.attachment;
  full_name  text;
  keys       smallint[];
  d          smallint;
  s          smallint;
  e          smallint;
  col        pg_catalog.pg_attribute;
  missing    text;
  differ     text[] := '{}';
  step       text;
  key_list   text;
  called     text;
begin
  statements := '{}';
  select * into c from pg_class r where r.oid = tab::oid;
  full_name := tab::text; -- qualified, since only pg_catalog is on the path
  if c.oid is null then
    raise undefined_table using message = 'there is no such table';
  elsif c.relkind in ('v', 'm') then
    raise wrong_object_type using message = format('%s is a view: its rows cannot be marked as taken', full_name), hint = 'Attach the table beneath it.';
  elsif c.relkind = 'f' then
    raise wrong_object_type using message = format('%s is a foreign table: rows elsewhere cannot be locked, and ring no bell here', full_name),
      hint = 'Attach it where the table itself is: bellhop attach --database-url …';
  elsif c.relkind not in ('r', 'p') then
    raise wrong_object_type using message = format('%s is not a table', full_name), hint = 'Name a table.';
  elsif c.relpersistence = 't' then
    raise wrong_object_type using message = format('%s is a temporary table, which only this session sees', full_name), hint = 'Make it a table that stays.';
  elsif c.relnamespace = 'pg_catalog'::regnamespace
     -- A user called bellhop may have tables in the schema of that name.
     or c.relnamespace = 'bellhop'::regnamespace and c.relname in ('jobqueue', 'attempt_past', 'log', 'item', 'instance', 'host', 'agent', 'child',
          'asserted', 'paused', 'located', 'dependency', 'attachment', 'attached', 'set_aside', 'schema_version', 'schema_script') then
    raise wrong_object_type using message = format('%s is not a table of yours', full_name), hint = 'For jobs without a table of their own: bellhop submit.';
  end if;
  select string_agg(p, ' and ') into missing from unnest(array['SELECT', 'UPDATE', 'TRIGGER']) p where not has_table_privilege(current_user, tab, p);
  if missing is not null then
    raise insufficient_privilege using message = format('permission denied: %s lacks %s on table %s', current_user, missing, full_name),
      hint = format('Attach it as its owner, or: grant select, update, trigger on %s to %I.', full_name, current_user);
  end if;
  if c.relkind = 'r' and exists (select from pg_inherits i where i.inhparent = tab::oid) then
    raise invalid_table_definition using message = format('other tables inherit from %s, and its key does not tell their rows from its own', full_name),
      hint = format('Attach these, one by one: %s.', (select string_agg(i.inhrelid::regclass::text, ', ') from pg_inherits i where i.inhparent = tab::oid));
  end if;
  if row_security_active(tab) then
    raise insufficient_privilege using message = format('row security of %s would hide rows from %s, and they would never run', full_name, current_user),
      hint = 'Attach it as its owner (without FORCE ROW LEVEL SECURITY), or as a role with BYPASSRLS.';
  end if;

  d := bellhop.attached_column(tab, dispatch, 'dispatch');
  select * into col from pg_attribute a where a.attrelid = tab and a.attnum = d;
  if bellhop.dispatch_value(col.atttypid) is null or col.atttypmod between 5 and 13 and bellhop.dispatch_value(col.atttypid) = '''dispatched''' then
    raise datatype_mismatch using message = format('the dispatch column %I is %s, and cannot be one', col.attname, format_type(col.atttypid, col.atttypmod)),
      hint = 'It is a time, timetz, timestamp, timestamptz, date, boolean, smallint, integer, bigint, or text with room for "dispatched".';
  elsif col.attnotnull then
    raise not_null_violation using message = format('the dispatch column %I is NOT NULL: no row could ask to be run', col.attname),
      hint = format('alter table %s alter %I drop not null', full_name, col.attname);
  end if;

  select * into old from bellhop.attachment x where x.rel = tab and x.dispatch_column = d and x.detached_at is null;
  if pool is null and old.id is null then
    raise null_value_not_allowed using message = 'how many may run at once? A pool has to be named', hint = 'bellhop attach … --pool 4';
  elsif pool is not null and pool not between 0 and 10000 then
    raise check_violation using message = format('pool %s is out of range', pool), hint = 'A pool is 0 (paused) to 10000.';
  end if;
  if type is null and cmd is null and old.id is null then
    raise null_value_not_allowed using message = 'what is to be run for each row? Neither a type nor a command was named', hint = 'bellhop attach … --type TYPE, or --cmd PROGRAM';
  elsif type is not null and cmd is not null then
    raise check_violation using message = 'a type and a command were named: it is one of the two', hint = 'Leave one out.';
  elsif type in ('', 'command', 'attachment') then
    raise check_violation using message = format('rows cannot be jobs of type %L', type), hint = 'Name the type of an agent: bellhop agents.';
  elsif cmd is not null and (coalesce(cmd[1], '') = '' or array_position(cmd, null) is not null) then
    raise check_violation using message = 'the command names no program', hint = 'bellhop attach … --cmd PROGRAM';
  elsif type is not null and coalesce(log_dir, workdir) is not null then
    raise check_violation using message = 'a folder to work in or to log into goes with a command', hint = 'An agent has its workdir in bellhop.yaml; its logs: bellhop logs.';
  elsif workdir not like '/%' or log_dir not like '/%' then
    raise check_violation using message = format('%L is not an absolute path', case when workdir not like '/%' then workdir else log_dir end), hint = 'Instances may run in any folder.';
  end if;

  if status_col is not null then
    s := bellhop.attached_column(tab, status_col, 'status');
    select * into col from pg_attribute a where a.attrelid = tab and a.attnum = s;
    if bellhop.dispatch_value(col.atttypid) is distinct from '''dispatched''' or col.attnotnull or col.atttypmod between 5 and 14 then
      raise datatype_mismatch using message = format('the status column %I is %s%s', col.attname, format_type(col.atttypid, col.atttypmod), case when col.attnotnull then ', and NOT NULL' else '' end),
        hint = 'It is a text column that may be NULL, with room for "quarantined".';
    end if;
  end if;
  if exit_col is not null then
    e := bellhop.attached_column(tab, exit_col, 'exit');
    select * into col from pg_attribute a where a.attrelid = tab and a.attnum = e;
    if col.atttypid not in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) or col.attnotnull then
      raise datatype_mismatch using message = format('the exit column %I is %s%s', col.attname, format_type(col.atttypid, col.atttypmod), case when col.attnotnull then ', and NOT NULL' else '' end),
        hint = 'It is an integer column that may be NULL.';
    end if;
  end if;

  if key is null and old.id is not null then
    keys := old.key_columns;
  elsif key is null then
    select array_agg(k order by o) into keys from pg_index i cross join unnest(i.indkey) with ordinality x (k, o)
     where i.indrelid = tab and i.indisprimary and o <= i.indnkeyatts; -- without INCLUDE columns
    if keys is null then
      raise invalid_table_definition using message = format('table %s has no primary key', full_name), hint = 'Give it one, or name columns that are unique: --key COL.';
    end if;
  else
    select array_agg(bellhop.attached_column(tab, k, 'key') order by o) into keys from unnest(key) with ordinality x (k, o);
    if keys is null or not exists (
         select from pg_index i
          where i.indrelid = tab and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
            and (select array_agg(k order by k) from unnest((i.indkey::smallint[])[0:i.indnkeyatts - 1]) k) = (select array_agg(k order by k) from unnest(keys) k))
       or exists (select from pg_attribute a where a.attrelid = tab and a.attnum = any (keys) and not a.attnotnull) then
      raise invalid_foreign_key using message = format('(%s) does not tell the rows of %s apart: that takes a unique index on just these columns, and NOT NULL on each', array_to_string(key, ', '), full_name),
        hint = format('alter table %s add unique (%s); alter table %s alter … set not null', full_name, array_to_string(key, ', '), full_name);
    end if;
  end if;
  if d = any (keys) or s = any (keys) or e = any (keys) or s = d or e in (d, s) then
    raise check_violation using message = 'one column cannot be two of key, dispatch, status and exit', hint = 'Name different columns.';
  end if;

  -- It is attached already.
  if old.id is not null then
    differ := array_remove(array[
      case when type is not null and old.type is distinct from type then format('type %s, not %s', coalesce(old.type, '(a command)'), type) end,
      case when cmd is not null and old.cmd is distinct from cmd then format('command %s, not %s', coalesce(array_to_string(old.cmd, ' '), '(a type)'), array_to_string(cmd, ' ')) end,
      case when workdir is not null and old.workdir is distinct from workdir then format('workdir %s, not %s', coalesce(old.workdir, '(none)'), workdir) end,
      case when log_dir is not null and old.log_dir is distinct from log_dir then format('log_dir %s, not %s', coalesce(old.log_dir, '(none)'), log_dir) end,
      case when keys <> old.key_columns then 'another key' end,
      case when s is not null and old.status_column is distinct from s then 'another status column' end,
      case when e is not null and old.exit_column is distinct from e then 'another exit column' end], null);
    if differ <> '{}' then
      raise duplicate_object using message = format('%s is attached already, as %s, and differs: it has %s', full_name, old.name, array_to_string(differ, '; ')),
        hint = format('Only the pool can be changed. For the rest: bellhop detach %s, and attach it again.', old.name);
    end if;
    id := old.id;
    delete from bellhop.set_aside x where x.attachment = old.id; -- another try at once
    if old.attached_by = current_user then -- a function that an earlier version has made, or that was dropped or altered
      statements := bellhop.turn_statements(old.id);
      if statements <> '{}' then
        perform bellhop.carry_out(statements, their_path);
        perform pg_notify('bellhop_due', '');
      end if;
    end if;
    if pool is not null and pool <> old.pool then
      update bellhop.attachment x set pool = attach_under.pool where x.id = old.id;
      statements := statements || format('update bellhop.attachment set pool = %s where id = %s', pool, old.id);
      perform pg_notify('bellhop_due', '');
    end if;
    return;
  end if;

  called := coalesce(name, case when visible then c.relname else (select n.nspname from pg_namespace n where n.oid = c.relnamespace) || '.' || c.relname end);
  if exists (select from bellhop.attachment x where x.name = called and x.detached_at is null) then
    if exists (select from bellhop.attachment x where x.name = called and x.detached_at is null and not exists (select from pg_class t where t.oid = x.rel)) then
      raise duplicate_object using message = format('there is an attachment called %L already, whose table is gone', called),
        hint = format('bellhop detach %I   then attach this one', called);
    end if;
    raise duplicate_object using message = format('there is an attachment called %L already', called), hint = 'Give this one another name: --name.';
  end if;
  insert into bellhop.attachment as x (name, rel, type, cmd, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column)
  values (called, tab, attach_under.type, attach_under.cmd, attach_under.pool, attach_under.workdir, attach_under.log_dir, keys, d, s, e)
  returning x.id into id;
  select string_agg(quote_ident(a.attname), ', ' order by o) into key_list
    from unnest(keys) with ordinality x (k, o) join pg_attribute a on a.attrelid = tab and a.attnum = x.k;

  statements := bellhop.turn_statements(id)
    || format($f$create trigger _900_bellhop_%1$s_insert after insert on %2$s
  referencing new table as bellhop_new for each statement execute function bellhop.ring_rows('%3$s')$f$, id, full_name, d)
    || format($f$create trigger _900_bellhop_%1$s_update after update on %2$s
  referencing new table as bellhop_new for each statement execute function bellhop.ring_rows('%3$s')$f$, id, full_name, d);
  if index then
    statements := statements || format('create index bellhop_%s_waiting on %s (%s) where %I is null', id, full_name, key_list, dispatch);
  end if;
  perform bellhop.carry_out(statements, their_path);
  perform pg_catalog.pg_notify('bellhop_due', '');
end
$$;

-- Grant: operator
create or replace function bellhop.attach(
  tab regclass, type text default null, cmd text[] default null, pool integer default null, workdir text default null,
  log_dir text default null, key text[] default null, dispatch text default 'dispatch', status_col text default null,
  exit_col text default null, index boolean default false, name text default null,
  out id bigint, out statements text[]
)
language sql volatile
begin atomic
  select a.id, a.statements
    from bellhop.attach_under(pg_catalog.current_setting('search_path'), pg_catalog.pg_table_is_visible(tab), tab, type, cmd, pool, workdir,
                              log_dir, key, dispatch, status_col, exit_col, index, name) a;
end;

-- attachment_named: the attachment of that name, or of the table of that name, if there is only one.
-- Grant: reader
create or replace function bellhop.attachment_under(their_path text, name text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  ids bigint[];
  tab oid;
begin
  select array_agg(x.id) into ids from bellhop.attachment x where x.name = attachment_under.name and x.detached_at is null;
  if ids is null and name ~ e'\\S' then
    begin
      perform set_config('search_path', their_path, true);
      tab := pg_catalog.to_regclass(name);
      perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
      select array_agg(x.id) into ids from bellhop.attachment x where x.rel::oid = tab and x.detached_at is null;
    exception when syntax_error or invalid_name or feature_not_supported then
      null; -- no table can have this name; and the path is what it was
    end;
  end if;
  if ids is null then
    raise undefined_object using message = pg_catalog.format('nothing is attached under the name %L', name), hint = 'bellhop attachments';
  elsif pg_catalog.cardinality(ids) > 1 then
    raise ambiguous_alias using message = pg_catalog.format('table %s is attached more than once', name), hint = 'Name the attachment: bellhop attachments.';
  end if;
  return ids[1];
end
$$;

-- Grant: reader
create or replace function bellhop.attachment_named(name text) returns bigint
language sql stable
begin atomic
  select bellhop.attachment_under(pg_catalog.current_setting('search_path'), name);
end;

-- detach: rows of the attachment are not run any more. Running rows go on to their end. Rows that were taken and have
-- not started are cancelled, and their dispatch column is set to NULL again. The attachment stays, as a detached one,
-- until the outcomes of running rows are in the table. Returns how many rows were given back. What the caller may not
-- remove (only the table's owner may drop triggers) stays, and does nothing.
-- Grant: operator
create or replace function bellhop.detach_under(their_path text, id bigint) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' -- of keys as text
as $$
#variable_conflict use_column
declare
  a       bellhop.attachment;
  r       record;
  back    text[] := '{}';
  ky      record;
  matches text;
  step    text;
begin
  select * into a from bellhop.attachment x where x.id = detach_under.id;
  perform bellhop.lock_attachment(a.id);
  for r in
    select x.key, x.job from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
     where x.attachment = a.id and x.live and j.state in ('held', 'blocked', 'scheduled', 'ready', 'assigned')
  loop
    if bellhop.cancel(r.job) = 'cancelled' then
      back := back || r.key;
    end if;
  end loop;
  if exists (select from pg_catalog.pg_class c where c.oid = a.rel::oid) then
    begin
      if back <> '{}' then
        select * into ky from bellhop.attached_key(a.rel, a.key_columns);
        matches := format('update %s t set %s = null from pg_catalog.unnest($1) as d (key) %s where %s',
                          case (select c.relkind from pg_class c where c.oid = a.rel::oid) when 'r' then 'only ' else '' end || a.rel::text,
                          bellhop.column_of(a.rel, a.dispatch_column, 'dispatch'), ky.parsed, ky.matches);
        perform set_config('search_path', their_path, true); -- for the table's triggers
        execute matches using back;
        perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
      end if;
    exception when others then -- its triggers' words too
      raise warning 'rows that were taken and not run keep their dispatch value: %', sqlerrm;
    end;
    foreach step in array array[pg_catalog.format('drop trigger if exists _900_bellhop_%s_insert on %s', a.id, a.rel),
                                pg_catalog.format('drop trigger if exists _900_bellhop_%s_update on %s', a.id, a.rel),
                                (select pg_catalog.format('drop index %s', i.oid::regclass) from pg_catalog.pg_class i join pg_catalog.pg_index x on x.indexrelid = i.oid
                                  where x.indrelid = a.rel and i.relname = pg_catalog.format('bellhop_%s_waiting', a.id))] loop
      begin
        continue when step is null;
        execute step;
      exception when insufficient_privilege then
        raise warning 'for the owner of the table to do: %', step;
      end;
    end loop;
  end if;
  perform bellhop.leave_attachment(a.id, back);
  return cardinality(back);
end
$$;

-- Grant: operator
create or replace function bellhop.detach(name text) returns integer
language sql volatile
begin atomic
  select bellhop.detach_under(pg_catalog.current_setting('search_path'), bellhop.attachment_named(name));
end;

-- lock_attachment: no instance takes rows of it until the caller's transaction ends.
-- Grant: operator
create or replace function bellhop.lock_attachment(id bigint) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$ select from bellhop.attachment x where x.id = lock_attachment.id for update $$;

-- leave_attachment: the attachment takes no more rows, and is forgotten as soon as all running rows have an outcome.
-- back: keys of rows that were given back.
-- Grant: operator
create or replace function bellhop.leave_attachment(id bigint, back text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update bellhop.attached x set live = false
   where x.attachment = leave_attachment.id and x.live and x.key = any (back)
     and not exists (select from bellhop.jobqueue j where j.id = x.job and j.state <> 'cancelled');
  update bellhop.attachment x set detached_at = clock_timestamp() where x.id = leave_attachment.id;
  if not exists (select from bellhop.attached x where x.attachment = leave_attachment.id and x.live) then
    perform bellhop.forget_attachment(leave_attachment.id);
  end if;
  perform pg_notify('bellhop_due', '');
end
$$;
