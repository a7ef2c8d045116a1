-- attach, detach, and what is said about them. All three run with the rights
-- of whoever calls them: what he may not do, they do not do for him.

-- attached_column: the number of a column of a table, checked.
create or replace function bellhop.attached_column(tab regclass, col text, purpose text) returns smallint
language plpgsql stable
set search_path = pg_catalog
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

-- attach: rows of tab whose dispatch column is NULL are run from now on: as jobs of a type, each a line name="value" …,
-- or by a command, its last argument the row's key. Called for a table that is attached already: changes its pool, or
-- names what differs. Gives the attachment's id and the statements that were carried out.
create or replace function bellhop.attach(
  tab regclass, type text default null, cmd text[] default null, pool integer default null, workdir text default null,
  log_dir text default null, key text[] default null, dispatch text default 'dispatch', status_col text default null,
  exit_col text default null, index boolean default false, name text default null,
  out id bigint, out statements text[]
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  c          pg_catalog.pg_class;
  old        bellhop.attachment;
  their_path text := pg_catalog.current_setting('search_path');
  visible    boolean := pg_catalog.pg_table_is_visible(tab);
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
  perform pg_catalog.set_config('search_path', 'pg_catalog', true);
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
    raise wrong_object_type using message = format('%s is no table', full_name), hint = 'Name a table.';
  elsif c.relpersistence = 't' then
    raise wrong_object_type using message = format('%s is a temporary table, which only this session sees', full_name), hint = 'Make it a table that stays.';
  elsif c.relnamespace = 'pg_catalog'::regnamespace
     -- A user called bellhop may well have tables of his own in his schema.
     or c.relnamespace = 'bellhop'::regnamespace and c.relname in ('jobqueue', 'attempt_past', 'log', 'item', 'instance', 'host', 'agent', 'child',
          'asserted', 'paused', 'located', 'dependency', 'attachment', 'attached', 'schema_version', 'schema_script') then
    raise wrong_object_type using message = format('%s is not a table of yours', full_name), hint = 'For jobs without a table of their own: bellhop submit.';
  end if;
  select string_agg(p, ' and ') into missing from unnest(array['SELECT', 'UPDATE', 'TRIGGER']) p where not has_table_privilege(current_user, tab, p);
  if missing is not null then
    raise insufficient_privilege using message = format('permission denied: %s lacks %s on table %s', current_user, missing, full_name),
      hint = format('Attach it as its owner, or: grant select, update, trigger on %s to %I.', full_name, current_user);
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

  select * into old from bellhop.attachment x where x.rel = tab and x.dispatch_column = d;
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
    raise check_violation using message = format('%L is no absolute path', case when workdir not like '/%' then workdir else log_dir end), hint = 'Instances may run in any folder.';
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
    select array_agg(k order by o) into keys from pg_index i cross join unnest(i.indkey) with ordinality x (k, o) where i.indrelid = tab and i.indisprimary;
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
        hint = format('Only the pool can be changed. For the rest: bellhop detach %s, and attach it anew.', old.name);
    end if;
    id := old.id;
    if pool is not null and pool <> old.pool then
      update bellhop.attachment x set pool = attach.pool where x.id = old.id;
      statements := array[format('update bellhop.attachment set pool = %s where id = %s', pool, old.id)];
      perform pg_notify('bellhop_due', '');
    end if;
    perform pg_catalog.set_config('search_path', their_path, true);
    return;
  end if;

  called := coalesce(name, case when visible then c.relname else (select n.nspname from pg_namespace n where n.oid = c.relnamespace) || '.' || c.relname end);
  if exists (select from bellhop.attachment x where x.name = called) then
    raise duplicate_object using message = format('there is an attachment called %L already', called), hint = 'Give this one another name: --name.';
  end if;
  insert into bellhop.attachment as x (name, rel, type, cmd, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column)
  values (called, tab, attach.type, attach.cmd, attach.pool, attach.workdir, attach.log_dir, keys, d, s, e)
  returning x.id into id;
  select string_agg(quote_ident(a.attname), ', ' order by o) into key_list
    from unnest(keys) with ordinality x (k, o) join pg_attribute a on a.attrelid = tab and a.attnum = x.k;

  statements := array[
    format($f$create function bellhop_attached.turn_%1$s(done pg_catalog.jsonb, n pg_catalog.int4, busy pg_catalog.text[])
  returns table (what pg_catalog.text, key pg_catalog.text, line pg_catalog.text, row_text pg_catalog.text)
  language sql volatile security definer set search_path from current set row_security = off
  as 'select * from bellhop.turn_rows(%1$s, done, n, busy)'$f$, id),
    format('revoke all on function bellhop_attached.turn_%s from public', id)]
    || array(select format('grant execute on function bellhop_attached.turn_%s to %I', id, r.rolname) from pg_roles r
              where r.rolname = 'bellhop_scheduler' or r.oid = (select q.relowner from pg_class q where q.oid = 'bellhop.jobqueue'::regclass))
    || format($f$create trigger _900_bellhop_%1$s_insert after insert on %2$s
  referencing new table as bellhop_new for each statement execute function bellhop.ring_rows('%3$s')$f$, id, full_name, d)
    || format($f$create trigger _900_bellhop_%1$s_update after update on %2$s
  referencing new table as bellhop_new for each statement execute function bellhop.ring_rows('%3$s')$f$, id, full_name, d);
  if index then
    statements := statements || format('create index bellhop_%s_waiting on %s (%s) where %I is null', id, full_name, key_list, dispatch);
  end if;
  -- Under the caller's search_path, which becomes the function's: triggers of the table expect no other.
  foreach step in array statements loop
    perform pg_catalog.set_config('search_path', their_path, true);
    execute step;
  end loop;
  perform pg_catalog.pg_notify('bellhop_due', '');
end
$$;

-- attachment_named: the attachment of that name, or of the table of that name, if there is one alone.
create or replace function bellhop.attachment_named(name text) returns bigint
language plpgsql stable
as $$
declare
  ids pg_catalog.int8[];
begin
  select array_agg(x.id) into ids from bellhop.attachment x where x.name = attachment_named.name;
  if ids is null and name ~ '\S' then
    begin
      select array_agg(x.id) into ids from bellhop.attachment x where x.rel = pg_catalog.to_regclass(attachment_named.name);
    exception when syntax_error or invalid_name or feature_not_supported then
      null; -- no table can be called so
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

-- detach: its rows are not run any more. What runs goes on to its end; what was taken and has not started is
-- cancelled, and its dispatch column set to NULL again. Gives how many those were. What the caller may not take
-- away (triggers are the table owner's to drop) stays, and does nothing.
create or replace function bellhop.detach(name text) returns integer
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  a       bellhop.attachment;
  r       record;
  back    text[] := '{}';
  dispatch name;
  matches text;
  step    text;
begin
  select * into a from bellhop.attachment x where x.id = bellhop.attachment_named(detach.name);
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
        select pg_catalog.string_agg(pg_catalog.format('t.%I = (%s)::%s', c.attname,
                 case when pg_catalog.cardinality(a.key_columns) = 1 then 'd.key' else pg_catalog.format('d.key::pg_catalog.jsonb ->> %s', o - 1) end,
                 pg_catalog.format_type(c.atttypid, c.atttypmod)), ' and ' order by o)
          into matches
          from pg_catalog.unnest(a.key_columns) with ordinality x (k, o) join pg_catalog.pg_attribute c on c.attrelid = a.rel and c.attnum = x.k;
        execute pg_catalog.format('update %s t set %s = null from pg_catalog.unnest($1) as d (key) where %s',
                                  a.rel, bellhop.column_of(a.rel, a.dispatch_column, 'dispatch'), matches) using back;
      end if;
    exception when insufficient_privilege or undefined_column then
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
  begin
    execute pg_catalog.format('drop function if exists bellhop_attached.turn_%s', a.id);
  exception when insufficient_privilege then
    raise warning 'for % to do: drop function bellhop_attached.turn_%', a.attached_by, a.id;
  end;
  delete from bellhop.attachment x where x.id = a.id;
  perform pg_catalog.pg_notify('bellhop_due', '');
  return pg_catalog.cardinality(back);
end
$$;

-- lock_attachment: no instance takes rows of it until the caller's transaction ends.
create or replace function bellhop.lock_attachment(id bigint) returns void
language sql volatile security definer
set search_path = pg_catalog
as $$ select from bellhop.attachment x where x.id = lock_attachment.id for update $$;

-- explain_row: why a row of an attached table does not run, as bellhop.explanation says it of jobs.
create or replace function bellhop.explain_row(name text, key text) returns table (code text, sentence text, next text)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  a     bellhop.attachment;
  mine  bellhop.attached;
  state text;
  n     bigint;
begin
  select x.id, x.name, x.rel, x.pool, x.state, x.trouble into a.id, a.name, a.rel, a.pool, a.state, a.trouble
    from bellhop.attachment x where x.id = bellhop.attachment_named(explain_row.name);
  select x.job, x.live into mine.job, mine.live from bellhop.attached x where x.attachment = a.id and x.digest = pg_catalog.sha256(pg_catalog.convert_to(explain_row.key, 'UTF8'));
  select j.state into state from bellhop.job j where j.id = mine.job;
  if not exists (select from pg_catalog.pg_class c where c.oid = a.rel::oid) then -- nobody may have looked since
    a.state := 'broken';
    a.trouble := 'its table was dropped';
  end if;
  if a.state = 'broken' then
    code := 'attachment_broken';
    sentence := pg_catalog.format('No row of %s runs: %s.', a.name, a.trouble);
    next := 'bellhop attachments';
    return next;
  end if;
  if not exists (select from bellhop.instance i where i.state = 'live') then
    code := 'no_instance';
    sentence := 'No instance of the scheduler is running on this database.';
    next := 'bellhop serve';
    return next;
  end if;
  if mine.live and state is not null then
    if state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
      code := 'row_has_job';
      sentence := pg_catalog.format('It has been taken: its job is %s, which is %s. Should it be asked for again meanwhile, it runs once more after that.', mine.job, state);
    else
      code := 'outcome_pending';
      sentence := pg_catalog.format('Job %s has %s, and that is still to be written into the table: somebody has the row locked.', mine.job, state);
    end if;
    next := 'bellhop explain ' || mine.job;
    return next;
    return;
  end if;
  select pg_catalog.count(*) into n from bellhop.attached x join bellhop.job j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  if a.pool = 0 then
    code := 'pool_paused';
    sentence := pg_catalog.format('The pool of %s is 0: nothing of it starts.', a.name);
    next := pg_catalog.format('bellhop attach %s --pool 4', a.rel);
    return next;
  elsif n >= a.pool then
    code := 'pool_full';
    sentence := pg_catalog.format('All %s places of %s are taken. Rows come in the order of their keys.', a.pool, a.name);
    next := pg_catalog.format('bellhop ls, or more: bellhop attach %s --pool %s', a.rel, a.pool + 1);
    return next;
  elsif mine.job is not null and state is not null then
    code := 'row_ran';
    sentence := pg_catalog.format('It ran last as job %s, which %s. It runs again when its dispatch column is set to NULL.', mine.job, state);
    next := 'bellhop explain ' || mine.job;
    return next;
  elsif a.state <> 'broken' then
    code := 'not_taken';
    sentence := pg_catalog.format('It has never been taken. It is if there is a row with the key %s and its dispatch column is NULL, when its transaction has ended and nobody has it locked; at the latest 5 s after that.', explain_row.key);
    next := 'bellhop kick';
    return next;
  end if;
end
$$;

revoke all on function bellhop.attached_column, bellhop.attach, bellhop.attachment_named, bellhop.detach, bellhop.lock_attachment, bellhop.explain_row from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant execute on function bellhop.attached_column, bellhop.attach, bellhop.detach, bellhop.lock_attachment to bellhop_operator;
    grant execute on function bellhop.attachment_named, bellhop.explain_row to bellhop_reader;
  end if;
end
$$;
