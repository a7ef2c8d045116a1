-- The schema after all migrations, written from the catalogs by `make generate`. Nobody runs this file.

table bellhop.agent (
  instance bigint not null,
  type text not null,
  mode text not null,
  dialect text not null,
  command text not null,
  max integer not null,
  max_per_host integer not null,
  trouble jsonb not null default '{}'::jsonb
);

unlogged table bellhop.asserted (
  instance bigint not null
);

table bellhop.attached (
  attachment bigint not null,
  digest bytea not null,
  key text not null,
  job bigint not null,
  live boolean not null,
  row_text text
);

table bellhop.attachment (
  id bigint not null generated always as identity,
  name text not null,
  rel regclass not null,
  type text,
  cmd text[],
  pool integer not null,
  workdir text,
  log_dir text,
  key_columns smallint[] not null,
  dispatch_column smallint not null,
  status_column smallint,
  exit_column smallint,
  attached_by name not null default CURRENT_USER,
  attached_at timestamp with time zone not null default clock_timestamp(),
  state text not null default 'ok'::text,
  trouble text,
  state_since timestamp with time zone not null default clock_timestamp()
);

table bellhop.attempt_past (
  job bigint not null,
  attempt integer not null,
  fence bigint not null,
  host text,
  child text,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  exit_code integer,
  error text,
  successes integer
);

unlogged table bellhop.child (
  instance bigint not null,
  host text not null,
  name text not null,
  type text not null,
  state text not null,
  pid integer,
  job bigint,
  since timestamp with time zone not null,
  done bigint not null default 0,
  deaths bigint not null default 0
);

table bellhop.dependency (
  job bigint not null,
  needs bigint not null,
  wanted text[] not null default '{succeeded}'::text[],
  met boolean not null default false,
  counted boolean not null default false
);

table bellhop.host (
  instance bigint not null,
  name text not null,
  slots integer not null,
  serves text[] not null default '{}'::text[],
  state text not null default 'up'::text,
  trouble text,
  state_since timestamp with time zone not null default clock_timestamp()
);

table bellhop.instance (
  id bigint not null generated always as identity,
  name text not null,
  hostname text not null,
  machine text not null,
  pid integer not null,
  process_start text not null,
  version text not null,
  lag interval not null,
  state text not null default 'live'::text,
  started_at timestamp with time zone not null default clock_timestamp(),
  heartbeat_at timestamp with time zone not null default clock_timestamp(),
  gone_at timestamp with time zone,
  gone_because text,
  stop text,
  paused text[] not null default '{}'::text[]
);

table bellhop.item (
  job bigint not null,
  fence bigint not null,
  item bigint not null,
  line text not null,
  tries integer not null,
  exit_code integer,
  error text,
  at timestamp with time zone not null default clock_timestamp()
);

table bellhop.jobqueue (
  id bigint not null generated always as identity,
  fence bigint not null default 0,
  created_at timestamp with time zone not null default clock_timestamp(),
  instance bigint,
  started_at timestamp with time zone,
  attempt_at timestamp with time zone,
  ended_at timestamp with time zone,
  run_at timestamp with time zone,
  attempt integer not null default 0,
  max_attempts integer not null default 1,
  exit_code integer,
  successes integer,
  priority smallint not null default 0,
  deaths smallint not null default 0,
  held boolean not null default false,
  cancel_requested boolean not null default false,
  cancel_now boolean not null default false,
  type text not null,
  state text not null default 'ready'::text,
  on_failure text not null default 'fail'::text,
  args text,
  msq text,
  repeat text,
  run_on text,
  key text,
  priority_name text,
  timeout interval,
  vars jsonb,
  locks text[],
  reasons text[],
  host text,
  child text,
  error text,
  waiting_for text,
  items_total bigint,
  items_done bigint,
  items_failed bigint,
  traceparent text default NULLIF(current_setting('bellhop.traceparent'::text, true), ''::text),
  killed_by text,
  unmet integer,
  ended_by bigint,
  txid xid8 not null default pg_current_xact_id()
);

unlogged table bellhop.located (
  instance bigint not null,
  key text not null,
  hosts text[] not null,
  error text,
  at timestamp with time zone not null default clock_timestamp()
);

table bellhop.log (
  id bigint not null generated always as identity,
  job bigint,
  attempt integer,
  child text,
  host text,
  level text not null,
  at timestamp with time zone not null default clock_timestamp(),
  line text not null
);

table bellhop.paused (
  type text not null,
  paused_at timestamp with time zone not null default clock_timestamp(),
  paused_by text not null default SESSION_USER
);

table bellhop.rjm (
  job bigint not null,
  files text[] not null default '{}'::text[],
  state text not null,
  trouble text
);

table bellhop.schema_script (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default clock_timestamp()
);

table bellhop.schema_version (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default clock_timestamp()
);

view bellhop.attempt (
  job bigint,
  attempt integer,
  host text,
  child text,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  exit_code integer,
  error text,
  successes integer
);

view bellhop.job (
  id bigint,
  type text,
  state text,
  held boolean,
  priority smallint,
  priority_name text,
  key text,
  run_on text,
  attempt integer,
  max_attempts integer,
  deaths smallint,
  fence bigint,
  host text,
  child text,
  instance bigint,
  created_at timestamp with time zone,
  run_at timestamp with time zone,
  started_at timestamp with time zone,
  attempt_at timestamp with time zone,
  ended_at timestamp with time zone,
  exit_code integer,
  error text,
  waiting_for text,
  cancel_requested boolean,
  on_failure text,
  locks text[],
  reasons text[],
  is_msq boolean,
  items_total bigint,
  items_done bigint,
  items_failed bigint,
  traceparent text,
  successes integer,
  unmet integer,
  ended_by bigint
);

-- constraints
alter table bellhop.agent add constraint agent_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.agent add constraint agent_pkey PRIMARY KEY (instance, type);
alter table bellhop.asserted add constraint asserted_pkey PRIMARY KEY (instance);
alter table bellhop.attached add constraint attached_attachment_fkey FOREIGN KEY (attachment) REFERENCES bellhop.attachment(id) ON DELETE CASCADE;
alter table bellhop.attached add constraint attached_pkey PRIMARY KEY (attachment, digest);
alter table bellhop.attachment add constraint attachment_cmd CHECK (((cmd[1] <> ''::text) AND (array_position(cmd, NULL::text) IS NULL)));
alter table bellhop.attachment add constraint attachment_has_key CHECK ((cardinality(key_columns) > 0));
alter table bellhop.attachment add constraint attachment_log_dir CHECK (((log_dir IS NULL) OR ((log_dir ~~ '/%'::text) AND (cmd IS NOT NULL))));
alter table bellhop.attachment add constraint attachment_name_key UNIQUE (name);
alter table bellhop.attachment add constraint attachment_name_not_empty CHECK ((name <> ''::text));
alter table bellhop.attachment add constraint attachment_pkey PRIMARY KEY (id);
alter table bellhop.attachment add constraint attachment_pool_range CHECK (((pool >= 0) AND (pool <= 10000)));
alter table bellhop.attachment add constraint attachment_rel_dispatch_column_key UNIQUE (rel, dispatch_column);
alter table bellhop.attachment add constraint attachment_state_known CHECK ((state = ANY (ARRAY['ok'::text, 'broken'::text])));
alter table bellhop.attachment add constraint attachment_type CHECK ((type <> ALL (ARRAY[''::text, 'command'::text, 'attachment'::text])));
alter table bellhop.attachment add constraint attachment_type_or_cmd CHECK (((type IS NULL) <> (cmd IS NULL)));
alter table bellhop.attachment add constraint attachment_workdir CHECK ((workdir ~~ '/%'::text));
alter table bellhop.attempt_past add constraint attempt_past_pkey PRIMARY KEY (job, attempt, fence);
alter table bellhop.child add constraint child_pkey PRIMARY KEY (instance, host, name);
alter table bellhop.dependency add constraint dependency_not_itself CHECK ((job <> needs));
alter table bellhop.dependency add constraint dependency_pkey PRIMARY KEY (job, needs);
alter table bellhop.dependency add constraint dependency_wanted_ends CHECK (((wanted <> '{}'::text[]) AND (wanted <@ ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'quarantined'::text])));
alter table bellhop.host add constraint host_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.host add constraint host_pkey PRIMARY KEY (instance, name);
alter table bellhop.host add constraint host_state_check CHECK ((state = ANY (ARRAY['up'::text, 'connecting'::text, 'down'::text])));
alter table bellhop.instance add constraint instance_pkey PRIMARY KEY (id);
alter table bellhop.instance add constraint instance_state_check CHECK ((state = ANY (ARRAY['live'::text, 'gone'::text])));
alter table bellhop.instance add constraint instance_stop_check CHECK ((stop = ANY (ARRAY['finish'::text, 'now'::text])));
alter table bellhop.item add constraint item_pkey PRIMARY KEY (job, fence, item);
alter table bellhop.jobqueue add constraint jobqueue_args_one_line CHECK (((strpos(args, '
'::text) = 0) AND (strpos(args, ''::text) = 0)));
alter table bellhop.jobqueue add constraint jobqueue_args_or_msq CHECK (((args IS NULL) OR (msq IS NULL)));
alter table bellhop.jobqueue add constraint jobqueue_key_not_empty CHECK (((key <> ''::text) AND (length(key) <= 1000)));
alter table bellhop.jobqueue add constraint jobqueue_locks_well_formed CHECK (((locks IS NULL) OR bellhop.locks_ok(locks)));
alter table bellhop.jobqueue add constraint jobqueue_max_attempts CHECK ((max_attempts >= 1));
alter table bellhop.jobqueue add constraint jobqueue_msq_not_empty CHECK ((msq ~ '\S'::text));
alter table bellhop.jobqueue add constraint jobqueue_on_failure_known CHECK ((on_failure = ANY (ARRAY['fail'::text, 'block'::text, 'run'::text])));
alter table bellhop.jobqueue add constraint jobqueue_pkey PRIMARY KEY (id);
alter table bellhop.jobqueue add constraint jobqueue_priority_name CHECK ((priority_name ~ '^[A-Za-z0-9]+$'::text));
alter table bellhop.jobqueue add constraint jobqueue_priority_range CHECK (((priority >= '-20'::integer) AND (priority <= 19)));
alter table bellhop.jobqueue add constraint jobqueue_repeat_known CHECK ((repeat = ANY (ARRAY['once'::text, 'until_empty'::text])));
alter table bellhop.jobqueue add constraint jobqueue_repeat_needs_msq CHECK (((repeat IS NULL) OR (msq IS NOT NULL)));
alter table bellhop.jobqueue add constraint jobqueue_run_on_not_empty CHECK ((run_on <> ''::text));
alter table bellhop.jobqueue add constraint jobqueue_state_known CHECK ((state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'ready'::text, 'assigned'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'quarantined'::text])));
alter table bellhop.jobqueue add constraint jobqueue_timeout_positive CHECK ((timeout > '00:00:00'::interval));
alter table bellhop.jobqueue add constraint jobqueue_type_named CHECK ((type <> ''::text));
alter table bellhop.jobqueue add constraint jobqueue_vars_are_strings CHECK (((vars IS NULL) OR ((jsonb_typeof(vars) = 'object'::text) AND (NOT jsonb_path_exists(vars, 'strict $.*?(@.type() != "string")'::jsonpath)))));
alter table bellhop.located add constraint located_pkey PRIMARY KEY (instance, key);
alter table bellhop.log add constraint log_pkey PRIMARY KEY (id);
alter table bellhop.paused add constraint paused_pkey PRIMARY KEY (type);
alter table bellhop.rjm add constraint rjm_pkey PRIMARY KEY (job);
alter table bellhop.rjm add constraint rjm_state_check CHECK ((state = ANY (ARRAY['done'::text, 'dusting'::text, 'old'::text])));
alter table bellhop.schema_script add constraint schema_script_pkey PRIMARY KEY (name);
alter table bellhop.schema_version add constraint schema_version_pkey PRIMARY KEY (version);

-- indexes
CREATE INDEX attached_job ON bellhop.attached USING btree (job);
CREATE INDEX attached_live ON bellhop.attached USING btree (attachment) WHERE live;
CREATE INDEX dependency_needs ON bellhop.dependency USING btree (needs);
CREATE INDEX dependency_open ON bellhop.dependency USING btree (needs) WHERE (NOT met);
CREATE INDEX dependency_uncounted ON bellhop.dependency USING btree (job) WHERE (NOT counted);
CREATE INDEX instance_live ON bellhop.instance USING btree (id) WHERE (state = 'live'::text);
CREATE INDEX jobqueue_floor ON bellhop.jobqueue USING btree (txid, type) WHERE ((state = 'ready'::text) AND (txid > '0'::xid8));
CREATE UNIQUE INDEX jobqueue_key ON bellhop.jobqueue USING btree (key) WHERE (key IS NOT NULL);
CREATE INDEX jobqueue_parked ON bellhop.jobqueue USING btree (state, held, run_at, id) WHERE ((state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'failed'::text, 'quarantined'::text])) OR ((state = 'ready'::text) AND (run_at IS NOT NULL)));
CREATE INDEX jobqueue_pinned ON bellhop.jobqueue USING btree (type, run_on, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NOT NULL));
CREATE INDEX jobqueue_ready ON bellhop.jobqueue USING btree (type, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NULL));
CREATE INDEX jobqueue_taken ON bellhop.jobqueue USING btree (instance) WHERE (state = ANY (ARRAY['assigned'::text, 'running'::text]));
CREATE INDEX log_job ON bellhop.log USING btree (job, id);
CREATE INDEX rjm_dusty ON bellhop.rjm USING btree (job) WHERE (state <> 'old'::text);

CREATE OR REPLACE FUNCTION bellhop.all_jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
begin
  delete from bellhop.dependency; -- a TRUNCATE of both would not let itself be joined by another
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.answers(host text, serves text[], key text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog'
AS $function$
  select key = host or exists (
    select from unnest(serves) p
     where key like replace(replace(replace(replace(replace(p, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_'))
$function$;

CREATE OR REPLACE FUNCTION bellhop.arrange()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
begin
  update bellhop.jobqueue j
     set state = case when j.held then 'held'
                      when j.unmet is not null then 'blocked'
                      when j.run_at > clock_timestamp() then 'scheduled'
                      else j.state end,
         priority = coalesce(bellhop.priority_of(j.priority_name), j.priority)
   where j.id = new.id and j.state in ('ready', 'held', 'blocked');
  if new.run_at is not null then
    perform pg_notify('bellhop_due', ''); -- the timer for the next due row may have to be set earlier
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.attach(tab regclass, type text DEFAULT NULL::text, cmd text[] DEFAULT NULL::text[], pool integer DEFAULT NULL::integer, workdir text DEFAULT NULL::text, log_dir text DEFAULT NULL::text, key text[] DEFAULT NULL::text[], dispatch text DEFAULT 'dispatch'::text, status_col text DEFAULT NULL::text, exit_col text DEFAULT NULL::text, index boolean DEFAULT false, name text DEFAULT NULL::text, OUT id bigint, OUT statements text[])
 RETURNS record
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.attached_column(tab regclass, col text, purpose text)
 RETURNS smallint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.attachment_named(name text)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.cancel(id bigint, now boolean DEFAULT false)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  was text;
begin
  -- The lock settles the race with a claim or an outcome.
  select j.state into was from bellhop.jobqueue j where j.id = cancel.id for update;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null
     where j.id = cancel.id;
    perform bellhop.ended(array[cancel.id]);
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    return 'cancelled';
  elsif was = 'running' then
    update bellhop.jobqueue j
       set cancel_requested = true, cancel_now = j.cancel_now or cancel.now
     where j.id = cancel.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.column_of(rel regclass, attnum smallint, purpose text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
declare
  found_name name;
begin
  select a.attname into found_name from pg_attribute a where a.attrelid = rel and a.attnum = column_of.attnum and not a.attisdropped;
  if found_name is null then
    raise undefined_column using message = format('its %s column was dropped', purpose), hint = 'Detach the table, and attach it anew.';
  end if;
  return quote_ident(found_name);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.command()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
declare
  -- Who asks. Not current_user: bellhop.submit runs as the schema's owner.
  who name := case when current_setting('role') = 'none' then session_user::text else current_setting('role') end;
begin
  if new.type = 'dummy' then -- it needs no agent: bellhop.pass_dummies
    perform pg_notify('bellhop_due', '');
    return null;
  end if;
  if not pg_has_role(who, (select relowner from pg_class where oid = tg_relid), 'member')
     and not coalesce((select pg_has_role(who, r.oid, 'member') from pg_roles r where r.rolname = 'bellhop_operator'), false) then
    raise insufficient_privilege using
      message = format('permission denied: %s may not give commands to the scheduler', who),
      hint = format('Jobs of type command are for operators: grant bellhop_operator to %I.', who);
  end if;
  if new.msq is not null or new.run_on is not null then
    raise check_violation using message = 'a command has args, and neither msq nor run_on',
      hint = 'Write the command into args, such as ''pause license'' or ''shutdown big1''.';
  end if;
  perform pg_notify('bellhop_due', '');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.dependencies_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  jobs   bigint[] := array(select distinct c.job from came c);
  others bigint[];
  late   record;
begin
  if jobs = '{}' then
    return null;
  end if;
  others := array(select j.id from bellhop.jobqueue j
                   where j.id = any (jobs) and not (j.xmin = pg_current_xact_id()::xid and j.created_at >= now()) order by j.id);
  if others <> '{}' then
    perform pg_advisory_xact_lock(7092165874193953895); -- of dependencies, nothing else
    perform from bellhop.jobqueue j where j.id = any (others) order by j.id for update;
    select j.id, j.state, j.started_at into late
      from bellhop.jobqueue j
     where j.id = any (others) and (j.state not in ('held', 'blocked', 'scheduled', 'ready') or j.started_at is not null)
     order by j.id limit 1;
    if found then
      raise object_not_in_prerequisite_state using
        message = format('a dependency of %s comes too late: it %s', bellhop.job_name(late.id),
                         case when late.state in ('succeeded', 'failed', 'cancelled', 'quarantined') then 'is ' || late.state else 'has started' end),
        constraint = 'dependency_in_time', table = 'dependency',
        hint = 'Insert a job and what it needs in one transaction, or insert it held and release it afterwards.';
    end if;
  end if;
  perform bellhop.ended(w.failed) from bellhop.weigh(jobs, false) w;
  perform bellhop.refuse_cycles(jobs); -- what is met already is on none
  if exists (select from bellhop.dependency d where d.job = any (jobs) and not d.counted) then
    perform pg_notify('bellhop_due', ''); -- look, when this is committed
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.dependencies_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select g.job from gone g where not g.met)) and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id for no key update);
  if jobs <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.weigh(jobs, false) w;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.dependency_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  ours boolean;
begin
  if not exists (select from bellhop.jobqueue j where j.id = new.job) then
    raise foreign_key_violation using message = format('there is no job %s that could need job %s', new.job, new.needs),
      constraint = 'dependency_job_exists', table = 'dependency', hint = 'Insert the job first, in the same transaction.';
  elsif new.job = new.needs then
    raise check_violation using message = format('a job cannot wait for itself: job %s needs job %s', new.job, new.needs),
      constraint = 'dependency_no_cycle', table = 'dependency', hint = 'Leave this dependency out.';
  end if;
  select j.xmin = pg_current_xact_id()::xid and j.created_at >= now()
         and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')
    into ours from bellhop.jobqueue j where j.id = new.needs;
  if not found then
    raise foreign_key_violation using message = format('there is no job %s that job %s could need', new.needs, new.job),
      constraint = 'dependency_needs_exists', table = 'dependency', hint = 'Insert what is needed first.';
  end if;
  new.met := false;
  new.counted := ours;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.detach(name text)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.dispatch_value(type oid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.ended(ids bigint[], told boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  needed bigint[];
  ready  integer;
begin
  -- Nobody waits for anybody: all that it costs where there are no graphs.
  if ids = '{}' or not exists (select from bellhop.dependency d where not d.met) then
    return 0;
  end if;
  needed := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
  if needed = '{}' then
    return 0;
  end if;
  ready := bellhop.release_dependents(needed, told);
  if ready > 0 and exists (select from bellhop.jobqueue j where j.type = 'dummy' and j.state = 'ready' and not j.held and j.run_on is null) then
    ready := ready + bellhop.pass_dummies(told);
  end if;
  return ready;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.explain(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
  select format('job %s (%s) is %s', j.id, j.type, j.state)
      || coalesce((select string_agg(format(e'\n  %s: %s\n    -> %s', e.code, e.sentence, e.next), '' order by n)
                     from bellhop.explanation(j.id) with ordinality e (code, sentence, next, n)), '')
    from bellhop.job j
   where j.id = explain.id
$function$;

CREATE OR REPLACE FUNCTION bellhop.explain_row(name text, key text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.explanation(id bigint)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  j        bellhop.jobqueue;
  r        record;
  why      text;
  rest     text;
  n        bigint;
  words    text;
  due      text;
  who      name := case when current_setting('role') = 'none' then session_user::text else current_setting('role') end;
  operator boolean;
begin
  select * into j from bellhop.jobqueue q where q.id = explanation.id;
  if not found then
    return;
  end if;
  operator := pg_has_role(who, (select relowner from pg_class where oid = 'bellhop.jobqueue'::regclass), 'member')
           or coalesce((select pg_has_role(who, p.oid, 'member') from pg_roles p where p.rolname = 'bellhop_operator'), false);

  if j.state = 'held' then
    code := 'held';
    sentence := 'It is held: it starts when somebody releases it.';
    next := 'bellhop release ' || j.id;
    return next;

  elsif j.state = 'blocked' then
    code := 'blocked';
    sentence := 'It waits for other jobs.';
    next := 'bellhop show ' || j.id;
    for r in select d.needs, d.wanted, q.state, q.type from bellhop.dependency d left join bellhop.jobqueue q on q.id = d.needs
              where d.job = j.id and not d.met order by d.needs limit 10
    loop
      sentence := format('It needs job %s (%s) to be %s; that one is %s.', r.needs, coalesce(r.type, 'deleted'), array_to_string(r.wanted, ' or '), coalesce(r.state, 'gone'));
      next := 'bellhop explain ' || r.needs;
      return next;
    end loop;
    if not found then
      return next;
    end if;

  elsif j.state = 'scheduled' then
    due := case when isfinite(j.run_at) then format('%s, in %s', j.run_at, date_trunc('second', greatest(j.run_at - clock_timestamp(), interval '0')))
                else j.run_at || ', which is never' end;
    if j.waiting_for = 'retry_delay' then
      code := 'retry_delay';
      sentence := format('Attempt %s of %s failed; the next one starts at %s: %s', j.attempt, j.max_attempts, due, coalesce(j.error, 'no reason given'));
      next := 'bellhop logs ' || j.id;
    else
      code := 'scheduled';
      sentence := format('It is to start at %s.', due);
      next := 'bellhop cancel ' || j.id;
    end if;
    return next;

  elsif j.state = 'ready' then
    why := case when j.type = 'command' then case when not exists (select from bellhop.instance i where i.state = 'live') then 'no_instance' end
                -- What its row says is newer where a host has just given it back.
                else coalesce(bellhop.why_waiting(j.type, j.run_on), case when j.waiting_for ~ '^(agent_fails|host_down): ' then j.waiting_for end) end;
    rest := nullif(substr(why, strpos(why, ': ') + 2), why);
    if why = 'no_instance' then
      code := 'no_instance';
      sentence := 'No instance of the scheduler is running on this database.';
      next := 'bellhop serve';
      return next;
    elsif why = 'paused' then
      code := 'paused';
      select string_agg(case when p.type = '' then 'Everything' else 'Type ' || p.type end || format(' is paused since %s by %s', date_trunc('second', p.paused_at), p.paused_by), '. ')
        into sentence from bellhop.paused p where p.type in ('', j.type);
      sentence := sentence || '.';
      next := case when exists (select from bellhop.paused p where p.type = '') then 'bellhop resume' else 'bellhop resume ' || j.type end;
      return next;
    elsif why = 'unknown_type' and j.type = 'attachment' then
      code := 'unknown_type';
      sentence := 'It is a row of an attached table with a command of its own, and no running instance obeys commands that stand in the database.';
      next := 'write commands_from_database: true into bellhop.yaml, and start bellhop serve anew';
      return next;
    elsif why = 'unknown_type' then
      code := 'unknown_type';
      sentence := format('No running instance has an agent of type %L.', j.type)
               || coalesce(' There are: ' || (select string_agg(distinct a.type, ', ') from bellhop.agent a join bellhop.instance i on i.id = a.instance where i.state = 'live') || '.', '');
      next := 'add it under agents in bellhop.yaml, and start bellhop serve anew';
      return next;
    elsif why like 'no_host%' then
      code := 'no_host';
      sentence := case when j.run_on is null then 'No instance that has its agent has a host.'
                       else format('No host answers to run_on %L', j.run_on) || coalesce(substring(rest from ' (\(locate: .*\))$'), '') || '.' end
               || coalesce(' There are: ' || (select string_agg(distinct h.name, ', ') from bellhop.host h join bellhop.instance i on i.id = h.instance where i.state = 'live') || '.', '');
      next := 'bellhop hosts';
      return next;
    elsif why like 'host_down%' then
      code := 'host_down';
      sentence := 'No host that it may run on can be reached: ' || rest || '.';
      next := 'bellhop hosts';
      return next;
    elsif why like 'agent_fails%' then
      code := 'agent_fails';
      sentence := 'Its agent does not come up; it is tried again after a while. Its last words, by host: ' || rest || '.';
      next := 'bellhop agents';
      return next;
    elsif why = 'no_room' then
      code := 'no_room';
      select string_agg(x.words, '; ') into words from (
        select format('%s on %s is %s%s for %s', c.name, c.host, c.state, coalesce(' (job ' || c.job || ')', ''), date_trunc('second', clock_timestamp() - c.since)) as words
          from bellhop.instance i join bellhop.host h on h.instance = i.id join bellhop.child c on c.instance = h.instance and c.host = h.name
         where i.state = 'live' and c.state not in ('FREE', 'FAIL') and (j.run_on is null or bellhop.answers(h.name, h.serves, j.run_on))
         order by c.since limit 5) x;
      sentence := 'Every place that it may take is taken: ' || coalesce(words, 'there are no slots') || '. A child of another type goes when it has had nothing to do for limits.min_ready.';
      next := 'more slots, max or max_per_host in bellhop.yaml; or a lower priority number: bellhop ls -s running';
      return next;
    end if;
    if why is null or why = 'no_room' then
      select count(*) into n from (
        select from bellhop.jobqueue q
         where q.type = j.type and q.state = 'ready' and not q.held and q.run_on is null and (q.priority, q.id) < (j.priority, j.id)
         limit 10000) x;
      if n > 0 then
        code := 'queued';
        sentence := format('%s of its type %s first, by priority and age.', case when n = 10000 then 'At least 10000 jobs' when n = 1 then '1 job' else n || ' jobs' end, case when n = 1 then 'comes' else 'come' end);
        next := 'bellhop ls -s ready -t ' || j.type;
        return next;
      end if;
    end if;
    if why is null and j.waiting_for is not null and j.waiting_for not in ('no_room', 'paused', 'unknown_type', 'no_instance')
       and j.waiting_for !~ '^no_host' then
      code := 'waits';
      sentence := 'It waits for: ' || j.waiting_for || '.';
      next := 'bellhop show ' || j.id;
      return next;
    elsif why is null and coalesce(n, 0) = 0 then
      code := 'not_looked_at';
      sentence := format('Nothing holds it back: it has been ready for %s, and an instance looks within 5 s even if no bell has rung.',
                         date_trunc('second', clock_timestamp() - greatest(j.created_at, j.run_at)));
      next := 'bellhop kick';
      return next;
    end if;

  elsif j.state in ('assigned', 'running') then
    if j.state = 'assigned' then
      code := 'child_starting';
      sentence := format('Instance %s has it: a child of its type is coming up on %s.', j.instance, j.host);
      next := 'bellhop agents';
    else
      code := 'running';
      select format(' by %s, pid %s', c.name, c.pid) into words from bellhop.child c where c.instance = j.instance and c.job = j.id and j.msq is null limit 1;
      sentence := format('It runs since %s (%s) on %s%s, instance %s, attempt %s of %s', date_trunc('second', coalesce(j.attempt_at, j.started_at)),
                         date_trunc('second', clock_timestamp() - coalesce(j.attempt_at, j.started_at)), j.host, coalesce(words, ''), j.instance, j.attempt, j.max_attempts)
               || case when j.msq is null then '.' else format('; items done %s, failed %s, of %s.', coalesce(j.items_done, 0), coalesce(j.items_failed, 0), coalesce(j.items_total::text, 'not known yet')) end;
      next := 'bellhop logs -f ' || j.id;
    end if;
    return next;
    if j.msq is not null and exists (select from bellhop.paused p where p.type in ('', j.type)) then
      code := 'paused';
      sentence := 'Its type is paused: no more of its items start.';
      next := case when exists (select from bellhop.paused p where p.type = '') then 'bellhop resume' else 'bellhop resume ' || j.type end;
      return next;
    end if;
    if j.cancel_requested then
      code := 'cancel_requested';
      sentence := case when j.killed_by is not null then 'It has been killed (by ' || j.killed_by || ')' else 'It has been asked to stop' end
               || ': it is over when its last process is dead.';
      next := 'bellhop cancel --now ' || j.id;
      return next;
    end if;

  else
    if j.state = 'succeeded' then
      code := 'succeeded';
      sentence := 'It is done.' || case when j.items_total is not null then format(' Items: %s.', j.items_total) else '' end;
      next := 'bellhop retry ' || j.id;
    elsif j.state = 'cancelled' then
      code := 'cancelled';
      sentence := 'Somebody has cancelled it.';
      next := 'bellhop retry ' || j.id;
    elsif j.state = 'quarantined' then
      code := 'quarantined';
      sentence := format('%s agents have died of it, and no more shall: %s', j.deaths, coalesce(j.error, 'no last words'));
      next := 'bellhop logs -e ' || j.id;
    elsif j.killed_by is not null and j.error like 'killed: %' then
      code := 'killed';
      sentence := 'It was killed by the wish of a user: ' || j.killed_by || '.';
      next := 'bellhop retry ' || j.id;
    elsif j.error like 'timeout: %' then
      code := 'timeout';
      sentence := 'It took longer than it may, and was ended: ' || substr(j.error, 10) || '.';
      next := 'give it a longer timeout, then: bellhop retry ' || j.id;
    elsif j.error ~ '^(msq_error|no_columns): ' then
      code := 'msq_error';
      sentence := 'PostgreSQL refuses its query: ' || substr(j.error, strpos(j.error, ': ') + 2);
      next := 'bellhop show ' || j.id;
    elsif j.error ~ '^(items_failed|too_many_failures): ' then
      code := 'items_failed';
      sentence := format('%s of its items failed, %s are done.', j.items_failed, j.items_done)
               || coalesce(' The first: ' || (select format('item %s: %s', i.item, i.error) from bellhop.item i where i.job = j.id and operator order by i.fence desc, i.item limit 1), '');
      next := 'bellhop show ' || j.id;
    elsif j.error like 'no_progress: %' then
      code := 'no_progress';
      sentence := 'Its query would have run for ever: ' || substr(j.error, 14) || '.';
      next := 'bellhop show ' || j.id;
    elsif j.error like 'needs_failed%' or j.attempt = 0 and j.type <> 'command' then
      code := 'needs_failed';
      sentence := 'It never ran: ' || coalesce(j.error, 'a job that it needs did not end as wanted') || '.';
      next := 'bellhop show ' || j.id;
    elsif j.type = 'command' then
      code := 'command_failed';
      sentence := 'The command was not carried out: ' || coalesce(j.error, 'no reason given') || '.';
      next := 'bellhop submit command --help';
    elsif j.deaths > 0 then
      code := 'agent_died';
      sentence := format('Its agent died with it in hand, exit code %s: %s', coalesce(j.exit_code::text, 'none'), coalesce(j.error, 'no last words'));
      next := 'bellhop logs -e ' || j.id;
    else
      code := 'agent_failed';
      sentence := format('Its agent failed, exit code %s: %s', coalesce(j.exit_code::text, 'none'), coalesce(j.error, 'no reason given'));
      next := 'bellhop logs -e ' || j.id;
    end if;
    return next;
    if j.attempt > 0 and j.started_at is not null then
      code := 'ran_on';
      sentence := format('Attempt %s of %s, on %s%s, from %s to %s (%s).', j.attempt, j.max_attempts, coalesce(j.host, 'no host'), coalesce(' by ' || j.child, ''),
                         date_trunc('milliseconds', coalesce(j.attempt_at, j.started_at)), date_trunc('milliseconds', j.ended_at),
                         date_trunc('milliseconds', j.ended_at - coalesce(j.attempt_at, j.started_at)));
      next := 'bellhop show ' || j.id;
      return next;
    end if;
    if operator and j.state <> 'succeeded' then
      select string_agg(x.line, e'\n    ' order by x.id) into words from (
        select l.id, l.line from bellhop.log l
         where l.job = j.id and l.level in ('err', 'error', 'note') and l.attempt is not distinct from nullif(j.attempt, 0)
         order by l.id desc limit 5) x;
      if words is not null then
        code := 'last_words';
        sentence := e'The last that was said:\n    ' || words;
        next := 'bellhop logs -e ' || j.id;
        return next;
      end if;
    end if;
  end if;

  -- An instance that nobody has heard of for a while may hold it, or be the only one that could take it.
  for r in
    select i.id, i.name, date_trunc('second', clock_timestamp() - i.heartbeat_at) as silent, i.lag, i.lag - (clock_timestamp() - i.heartbeat_at) as left
      from bellhop.instance i
     where i.state = 'live' and i.heartbeat_at < clock_timestamp() - i.lag / 2 and (j.instance = i.id or j.state = 'ready')
       and j.state in ('ready', 'assigned', 'running')
  loop
    code := 'instance_silent';
    sentence := format('Instance %s (%s) has not been heard of for %s; after %s it is taken for dead, and what it holds is given to others.', r.id, r.name, r.silent, r.lag);
    next := 'bellhop instances';
    return next;
  end loop;
  for r in
    select i.id, i.name, i.stop from bellhop.instance i
     where i.state = 'live' and i.stop is not null and (j.instance = i.id or j.state = 'ready') and j.state in ('ready', 'assigned', 'running')
  loop
    code := 'instance_stopping';
    sentence := format('Instance %s (%s) has been told to stop (%s), and starts nothing more.', r.id, r.name, r.stop);
    next := 'bellhop instances';
    return next;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.job_name(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce((select format('job %s%s', j.id, coalesce(' (' || j.key || ')', '')) from bellhop.jobqueue j where j.id = job_name.id),
                  format('job %s', job_name.id))
$function$;

CREATE OR REPLACE FUNCTION bellhop.jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
begin
  if not exists (select from bellhop.dependency) then
    return null;
  end if;
  delete from bellhop.dependency d using gone g where d.job = g.id;
  delete from bellhop.dependency d using gone g where d.needs = g.id and (d.met or g.state = any (d.wanted));
  update bellhop.dependency d set counted = false from gone g where d.needs = g.id;
  if found then
    perform pg_notify('bellhop_due', '');
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.kick()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog'
AS $function$ select pg_notify('bellhop', '') $function$;

CREATE OR REPLACE FUNCTION bellhop.killjob(id bigint, by text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  was text;
  who text := coalesce(killjob.by, session_user);
begin
  -- The lock settles the race with a claim or an outcome.
  select j.state into was from bellhop.jobqueue j where j.id = killjob.id for update;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'failed', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, killed_by = who,
           error = 'killed: by ' || who || ', before it began'
     where j.id = killjob.id;
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    perform bellhop.ended(array[killjob.id]); -- comes with 0009
    return 'failed';
  elsif was = 'running' then
    update bellhop.jobqueue j set cancel_requested = true, killed_by = who where j.id = killjob.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_attachment(id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$ select from bellhop.attachment x where x.id = lock_attachment.id for update $function$;

CREATE OR REPLACE FUNCTION bellhop.locks_ok(locks text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce(bool_and(coalesce(l, '') ~ '^(big|[A-Za-z0-9_-]+:(\*|\?|[^=\s]+)=(exclusive|shared))$'), true)
  from unnest(locks) l
$function$;

CREATE OR REPLACE FUNCTION bellhop.look_again(most integer, OUT looked integer, OUT more boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select distinct d.job from bellhop.dependency d where not d.counted limit most))
                   and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id
                   for no key update skip locked);
  -- A job that has started or is over, or is not there, waits for nothing.
  update bellhop.dependency d
     set counted = true
   where not d.counted
     and not exists (select from bellhop.jobqueue j where j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready'));
  looked := cardinality(jobs);
  if looked > 0 then
    perform bellhop.refuse_cycles(jobs, true);
    perform bellhop.ended(w.failed) from bellhop.weigh(jobs, true) w;
    -- Claims pass over rows that are locked, and we have locked some.
    perform pg_notify('bellhop', '');
  end if;
  more := exists (select from bellhop.dependency d where not d.counted);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.needed_by_way(ids bigint[])
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
  with recursive way (id) as (
    select unnest(ids)
    union
    select d.needs from way w join bellhop.dependency d on d.job = w.id and not d.met
  )
  select id from way
$function$;

CREATE OR REPLACE FUNCTION bellhop.obey(me bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  c     record;
  words text[];
  rest  text;
  wrong text;
  done  text;
  n     integer := 0;
begin
  for c in
    select j.id, coalesce(j.args, '') as args, greatest(j.created_at, j.run_at) as said
      from bellhop.jobqueue j
     where j.type = 'command' and j.state = 'ready' and not j.held and j.run_on is null
       and (j.run_at is null or j.run_at <= clock_timestamp())
     order by j.priority, j.id
       for update skip locked
  loop
    words := regexp_split_to_array(btrim(c.args), '\s+');
    wrong := null;
    done := null;
    rest := words[2];
    if words[1] = 'shutdown' and rest = 'now' then
      rest := words[3];
    end if;
    if words[1] = 'shutdown' and cardinality(words) <= (case when words[2] = 'now' then 3 else 2 end) then
      if bellhop.stop_instances(rest, coalesce(words[2] = 'now', false), c.said) = 0 then
        wrong := coalesce('no live instance is called ' || rest || ': see bellhop instances', 'no instance was running when this was said');
      end if;
    elsif words[1] = 'killjob' and words[2] ~ '^\d{1,18}$' and cardinality(words) = 2 then
      if words[2]::bigint = c.id then
        wrong := 'a command cannot kill itself';
      else
        -- A final job: no change, as with cancel.
        begin
          perform from bellhop.jobqueue j where j.id = words[2]::bigint for update nowait;
          done := bellhop.killjob(words[2]::bigint, 'command ' || c.id);
        exception when lock_not_available then
          continue; -- somebody has that job in hand: this command waits, and no other with it
        end;
        if done is null then
          wrong := 'there is no job ' || words[2];
        elsif done in ('succeeded', 'failed', 'cancelled', 'quarantined') then
          done := 'job ' || words[2] || ' is ' || done;
        else
          done := 'job ' || words[2] || ' is asked to stop';
        end if;
      end if;
    elsif words[1] = 'pause' and cardinality(words) <= 2 then
      perform bellhop.pause(words[2]);
    elsif words[1] = 'resume' and cardinality(words) <= 2 then
      if words[2] is not null and exists (select from bellhop.paused p where p.type = '') then
        wrong := 'everything is paused: say resume without a type first';
      elsif not bellhop.resume(words[2]) then
        done := 'nothing was paused';
      end if;
    else
      wrong := format('unknown command %L: it is one of shutdown [INSTANCE], shutdown now [INSTANCE], killjob N, pause [TYPE], resume [TYPE]', c.args);
    end if;
    -- The way of every job, in one transaction.
    update bellhop.jobqueue j
       set state = 'running', fence = j.fence + 1, attempt = j.attempt + 1, instance = me, waiting_for = null,
           attempt_at = case when j.started_at is not null then clock_timestamp() end, started_at = coalesce(j.started_at, clock_timestamp())
     where j.id = c.id;
    update bellhop.jobqueue j
       set state = case when wrong is null then 'succeeded' else 'failed' end, ended_at = clock_timestamp(),
           exit_code = case when wrong is null then 0 else 1 end, error = wrong
     where j.id = c.id;
    insert into bellhop.log (job, attempt, level, line)
    select j.id, j.attempt, 'note', coalesce(wrong, done, 'done: ' || c.args) from bellhop.jobqueue j where j.id = c.id;
    perform bellhop.ended(array[c.id]);
    n := n + 1;
  end loop;
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.pass_dummies(told boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
 SET enable_seqscan TO 'off'
AS $function$
declare
  ids   bigint[];
  ready integer := 0;
begin
  loop
    with passed as (
      update bellhop.jobqueue j
         set state = 'succeeded', attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock_timestamp()),
             attempt_at = case when j.started_at is not null then clock_timestamp() end,
             ended_at = clock_timestamp(), exit_code = 0, waiting_for = null
       where j.id = any (array(
               select d.id from bellhop.jobqueue d
                where d.type = 'dummy' and d.state = 'ready' and not d.held and d.run_on is null and d.unmet is null
                  and (d.run_at is null or d.run_at <= clock_timestamp())
                  and not exists (select from bellhop.dependency x where x.job = d.id and not x.counted)
                order by d.priority, d.id limit 1000
                  for update skip locked))
      returning j.id
    )
    select array_agg(p.id) into ids from passed p;
    exit when ids is null;
    ids := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
    if ids <> '{}' then
      ready := ready + bellhop.release_dependents(ids, told);
    end if;
  end loop;
  return ready;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.pause(type text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
begin
  insert into bellhop.paused (type) values (coalesce(pause.type, '')) on conflict do nothing;
  update bellhop.instance i set paused = (select array_agg(p.type) from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.place()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform pg_notify('bellhop_due', '');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.priority_of(name text)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog'
AS $function$
  select (case when left(lower(name), 1) between 'a' and 'z' then ascii(lower(name)) - ascii('n') else -20 end)::smallint
$function$;

CREATE OR REPLACE FUNCTION bellhop.prune(older_than interval, states text[], past bigint, most integer, rjm boolean DEFAULT false, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
declare
  ids bigint[];
begin
  ids := array(select j.id from bellhop.jobqueue j
                where j.id > past and j.state = any (states) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                  and j.ended_at < clock_timestamp() - older_than
                  and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                   where d.needs = j.id and not d.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                  and not exists (select from bellhop.attached x where x.job = j.id and x.live)
                  and not exists (select from bellhop.rjm r where r.job = j.id and r.state <> 'old' and j.state = 'succeeded')
                  and (not prune.rjm or exists (select from bellhop.rjm r where r.job = j.id))
                order by j.id limit most
                  for update of j skip locked);
  last := ids[cardinality(ids)];
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.rjm r where r.job = any (ids);
  delete from bellhop.attached x where x.job = any (ids);
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics deleted = row_count;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse_cycles(jobs bigint[], give_up boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  start   bigint[];
  nodes   bigint[]; -- by number, from 1
  behind  integer[]; -- who needs, grouped by whom they need
  first   integer[]; -- where the group of each begins in behind
  left_of integer[]; -- how many needs each has that may still end
  queue   integer[] := '{}';
  at      integer := 1;
  n       integer;
  i       integer;
  k       integer;
  ahead   integer[]; -- of each that is left, one whom it needs
  walk    bigint[] := '{}';
  words   text;
begin
  -- A cycle that came just now leads through one of these, and somebody needs that one.
  start := array(select j.id from unnest(jobs) as j (id) where exists (select from bellhop.dependency d where d.needs = j.id and not d.met));
  if start = '{}' then
    return;
  end if;
  nodes := array(select w from bellhop.needed_by_way(start) w order by w);
  -- A way back leads up at one place at least, and down at another, in the order of the ids. Mostly all lead one way.
  if (select count(distinct d.needs > d.job) from bellhop.dependency d where d.job = any (nodes) and not d.met) < 2 then
    return;
  end if;
  -- Take away whoever needs nothing, then whoever needs only those, and so on: linear in jobs and dependencies.
  n := cardinality(nodes);
  with node as materialized (
    select x.id, x.o::integer as i from unnest(nodes) with ordinality as x (id, o)
  ), edge as materialized (
    select a.i as job, b.i as needs
      from bellhop.dependency d
      join node a on a.id = d.job
      join node b on b.id = d.needs
     where d.job = any (nodes) and not d.met
  )
  select array(select e.job from edge e order by e.needs),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.needs, count(*) as many from edge e group by e.needs) c on c.needs = x.i order by x.i),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.job, count(*) as many from edge e group by e.job) c on c.job = x.i order by x.i)
    into behind, first, left_of;
  k := 1;
  for i in 1 .. n loop
    k := k + first[i];
    first[i] := k - first[i];
    if left_of[i] = 0 then
      queue := queue || i;
    end if;
  end loop;
  first := first || k;
  while at <= cardinality(queue) loop
    i := queue[at];
    at := at + 1;
    for k in first[i] .. first[i + 1] - 1 loop
      left_of[behind[k]] := left_of[behind[k]] - 1;
      if left_of[behind[k]] = 0 then
        queue := queue || behind[k];
      end if;
    end loop;
  end loop;
  if cardinality(queue) = n then
    return;
  end if;
  -- Whoever is left needs another who is left: follow them until one comes again.
  ahead := array_fill(0, array[n]);
  for i in 1 .. n loop
    if left_of[i] > 0 then
      at := i;
      for k in first[i] .. first[i + 1] - 1 loop
        ahead[behind[k]] := i;
      end loop;
    end if;
  end loop;
  while left_of[at] >= 0 loop
    left_of[at] := -1; -- been there
    at := ahead[at];
  end loop;
  i := ahead[at];
  k := at; -- the lowest id on the cycle, to begin with
  while i <> at loop
    k := least(k, i);
    i := ahead[i];
  end loop;
  i := k;
  loop
    walk := walk || nodes[i];
    i := ahead[i];
    exit when i = k;
  end loop;
  walk := walk || nodes[k];
  words := (select string_agg(bellhop.job_name(w), ' needs ' order by o) from unnest(walk) with ordinality as x (w, o) where o <= 30);
  if cardinality(walk) > 30 then
    words := words || format(' … (%s jobs in all)', cardinality(walk) - 1);
  end if;
  if not give_up then
    raise check_violation using message = 'these jobs would wait for each other for ever: ' || words, constraint = 'dependency_no_cycle', table = 'dependency',
      hint = 'Leave out one of these dependencies.';
  end if;
  update bellhop.jobqueue j
     set state = 'failed', unmet = null, ended_at = clock_timestamp(), error = 'these jobs wait for each other for ever: ' || words, waiting_for = null
   where j.id = walk[1] and j.state in ('blocked', 'scheduled', 'ready');
  perform bellhop.ended(walk[1:1]);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.release(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  freed  bigint[];
  needy  bigint[];
  now_is text;
begin
  with recursive way (id) as (
    select release.id
    union
    select d.job from way w join bellhop.dependency d on d.needs = w.id
  ), locked as materialized (
    select j.id from bellhop.jobqueue j join way w on w.id = j.id where j.state = 'held' order by j.id for no key update of j
  ), moved as (
    update bellhop.jobqueue j
       set held = false,
           state = case when j.unmet is not null then 'blocked' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
     where j.id in (select l.id from locked l) and j.state = 'held'
    returning j.id, j.unmet
  )
  select array_agg(m.id), array_agg(m.id order by m.id) filter (where m.unmet is not null) into freed, needy from moved m;
  if needy is not null then
    perform bellhop.ended(w.failed) from bellhop.weigh(needy, false) w; -- some may have failed while they were held
  end if;
  if freed is not null then
    perform bellhop.kick();
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = release.id;
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.release_dependents(ids bigint[], told boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  ends    bigint[] := ids; -- whose dependents are to be dealt with
  over    bigint[];
  rounds  integer := 0;
  ready   integer := 0;
  n_ready integer;
  n_later integer;
  n_due   integer;
  doubt   bigint[];
  fell    bigint[];
begin
  while ends <> '{}' loop
    rounds := rounds + 1;
    over := ends;
    -- A long chain of failures must not hold up the outcomes behind it: the keeper goes on with it.
    if rounds > 50 then
      update bellhop.dependency d set counted = false where d.needs = any (ends) and not d.met and d.counted;
      perform pg_notify('bellhop_due', '');
      exit;
    end if;
    with edge as materialized (
      select d.job, d.needs, n.state = any (d.wanted) as good
        from bellhop.dependency d
        join bellhop.jobqueue n on n.id = d.needs
       where d.needs = any (ends) and n.id = any (ends) and not d.met and d.counted
    ), child as materialized (
      -- In one order, so that two instances do not wait for each other. And nobody waits at all for one that an app
      -- has in hand, in a transaction that may last: see `later`.
      select j.id, j.on_failure, j.held
        from bellhop.jobqueue j
       where j.id = any (array(select e.job from edge e)) and j.unmet is not null
       order by j.id
         for no key update skip locked
    ), met as (
      update bellhop.dependency d
         set met = true
        from edge e join child c on c.id = e.job
       where d.needs = any (ends) and not d.met and d.job = e.job and d.needs = e.needs and (e.good or c.on_failure = 'run')
    ), later as (
      update bellhop.dependency d
         set counted = false
        from edge e
       where d.needs = any (ends) and not d.met and d.job = e.job and d.needs = e.needs
         and e.job not in (select c.id from child c)
         and e.job = any (array(select j.id from bellhop.jobqueue j
                                 where j.id = any (array(select x.job from edge x)) and j.unmet is not null))
      returning 1
    ), verdict as (
      select e.job, count(*) filter (where e.good or c.on_failure = 'run') as met,
             min(e.needs) filter (where not e.good and c.on_failure <> 'run') as bad,
             bool_or(not e.good and c.on_failure = 'fail' and not c.held) as fails
        from edge e join child c on c.id = e.job
       group by e.job
    ), moved as (
      update bellhop.jobqueue j
         set unmet = case when not v.fails then nullif(j.unmet - v.met, 0) end,
             state = case when j.state not in ('held', 'blocked') then j.state -- changed by hand
                          when v.fails then 'failed'
                          when j.state = 'held' or j.unmet > v.met then j.state
                          when j.run_at > clock_timestamp() then 'scheduled'
                          else 'ready' end,
             waiting_for = case when v.fails then null
                                when v.bad is not null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                                when j.unmet > v.met then j.waiting_for end,
             ended_at = case when v.fails then clock_timestamp() end,
             error = case when v.fails then (bellhop.unmet_because(v.bad)).why end,
             ended_by = case when v.fails then (bellhop.unmet_because(v.bad)).root end
        from verdict v
       where j.id = any (array(select x.job from verdict x)) and j.id = v.job
      returning j.id, j.state
    )
    select coalesce(array_agg(m.id) filter (where m.state = 'failed'), '{}'),
           count(*) filter (where m.state = 'ready'),
           count(*) filter (where m.state = 'scheduled'),
           (select count(*) from later)
      into ends, n_ready, n_due, n_later
      from moved m;
    ready := ready + n_ready;
    if n_later + n_due > 0 then
      perform pg_notify('bellhop_due', '');
    end if;
    -- Dependencies that nobody has counted yet: their jobs are weighed anew.
    doubt := array(select j.id from bellhop.jobqueue j
                    where j.id = any (array(select d.job from bellhop.dependency d where d.needs = any (over) and not d.met and not d.counted))
                      and j.state in ('held', 'blocked', 'scheduled', 'ready')
                    order by j.id
                      for no key update skip locked);
    if doubt <> '{}' then
      select w.ready, w.failed into n_ready, fell from bellhop.weigh(doubt, false) w;
      ready := ready + n_ready;
      ends := ends || fell;
    end if;
  end loop;
  -- Instances that serve their types may be others than the caller.
  if ready > 0 and not (told and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) live) < 2) then
    perform pg_notify('bellhop', '');
  end if;
  return ready;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.resume(type text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  was boolean;
begin
  delete from bellhop.paused p where resume.type is null or p.type = resume.type;
  was := found;
  update bellhop.instance i set paused = (select coalesce(array_agg(p.type), '{}') from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  return was;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retry(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  was    bellhop.jobqueue;
  now_is text;
begin
  perform bellhop.retry_attached(retry.id)
    from bellhop.jobqueue j where j.id = retry.id and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into was from bellhop.jobqueue j where j.id = retry.id for update;
  if was.state is null or was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return was.state;
  end if;
  if was.attempt > 0 and was.started_at is not null then
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes)
    select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
           was.exit_code, was.error, was.successes
    where not exists (select 1 from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
  end if;
  update bellhop.jobqueue j
     set state = 'ready', held = false, run_at = null, max_attempts = greatest(j.max_attempts, j.attempt + 1),
         ended_at = null, exit_code = null, error = null, waiting_for = null, successes = null, instance = null,
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null,
         items_total = null, items_done = null, items_failed = null
   where j.id = retry.id;
  if exists (select from bellhop.dependency d where d.job = retry.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.weigh(array[retry.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = retry.id;
  perform bellhop.kick();
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retry_attached(job bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  a bellhop.attachment;
begin
  select b.* into a from bellhop.attached x join bellhop.attachment b on b.id = x.attachment where x.job = retry_attached.job;
  if not found then
    return;
  end if;
  perform from bellhop.attachment b where b.id = a.id for update; -- nobody takes rows of it meanwhile
  if (select count(*) from bellhop.attached x where x.attachment = a.id and x.live and x.job <> retry_attached.job) >= a.pool then
    raise object_not_in_prerequisite_state using
      message = format('job %s is a row of %s, and all %s places of that are taken', retry_attached.job, a.name, a.pool),
      hint = 'Set its dispatch column to NULL: then it runs as soon as there is room.';
  end if;
  update bellhop.attached x set live = true where x.job = retry_attached.job;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ring()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform pg_notify('bellhop', 'inserted');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ring_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  dispatch name;
  waits    boolean;
begin
  select a.attname into dispatch from pg_attribute a where a.attrelid = tg_relid and a.attnum = tg_argv[0]::smallint and not a.attisdropped;
  if dispatch is null then
    return null; -- the column is gone: the attachment is broken, and nobody's INSERT
  end if;
  execute format('select exists (select from bellhop_new n where n.%I is null)', dispatch) into waits;
  if waits and not pg_try_advisory_xact_lock_shared(7090192401229115393) then
    perform pg_notify('bellhop', 'inserted'); -- nothing that was there before is ready now: see ring.sql
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.rjm_setup(id text, config text, prio text DEFAULT 'n'::text, blocks text[] DEFAULT '{}'::text[], files text[] DEFAULT '{}'::text[], inside bigint DEFAULT NULL::bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  new_id   bigint;
  old      bellhop.jobqueue;
  child    bellhop.jobqueue;
  name     text;
  children bigint[] := '{}';
  had      text[];
  has      text[];
  n        integer := 1;
begin
  if rjm_setup.id !~ '^[A-Za-z0-9_:-]+\.[^./[:space:][:cntrl:]]+$' then
    raise invalid_parameter_value using message = format('%L is no id of a job', rjm_setup.id),
      hint = 'An id is a type, a dot and a nonce, such as billing.simpsons-42; the nonce has no dot, blank or slash.';
  elsif split_part(rjm_setup.id, '.', 1) in ('command', 'rjm') then
    raise invalid_parameter_value using message = format('the type %L is bellhop''s own', split_part(rjm_setup.id, '.', 1)), hint = 'Choose another type.';
  elsif rjm_setup.id = any (blocks) then
    raise check_violation using message = format('%s cannot wait for itself', rjm_setup.id), hint = 'Leave it out of rjm_blocks.';
  elsif octet_length(config) > 100000 then
    raise invalid_parameter_value using message = format('the configuration is too long: %s bytes, at the most 100000', octet_length(config)),
      hint = 'Put what is long into a file, and name that.';
  elsif files <> '{}' and rjm_setup.id like 'dummy.%' then
    raise invalid_parameter_value using message = 'a dummy runs on no host, so there is none that could delete files', hint = 'Let a job that runs delete them.';
  end if;
  select * into old from bellhop.jobqueue j where j.key = rjm_setup.id;
  if old.id is not null then
    had := string_to_array(old.vars ->> 'RJM_CONFIG', e'\n');
    has := string_to_array(config, e'\n');
    if had is null then
      raise unique_violation using message = format('%s is job %s, which rjmsetup has not made', rjm_setup.id, old.id), hint = 'Choose another nonce.';
    elsif old.priority_name is distinct from prio then
      raise unique_violation using message = format('%s is set up already with another priority: %s, not %s', rjm_setup.id, coalesce(old.priority_name, 'none'), prio),
        hint = 'What is set up does not change. Choose another nonce.';
    elsif had is distinct from has then
      while had[n] is not distinct from has[n] loop
        n := n + 1;
      end loop;
      raise unique_violation using message = format('%s is set up already with another configuration: line %s is "%s", not "%s"', rjm_setup.id, n, had[n], has[n]),
        hint = 'What is set up does not change. Choose another nonce.';
    end if;
    return old.id;
  end if;

  new_id := bellhop.submit(split_part(rjm_setup.id, '.', 1), key => rjm_setup.id, priority_name => prio, held => true, on_failure => 'block',
                           vars => jsonb_build_object('RJM_CONFIG', config));
  insert into bellhop.rjm (job, files, state)
  values (new_id, files, case when files = '{}' then 'old' else 'done' end)
  on conflict do nothing;
  for name in select distinct unnest(blocks) order by 1 loop
    -- The lock: nobody releases it between this look and the commit.
    select * into child from bellhop.jobqueue j where j.key = name for update;
    if child.id is null then
      raise foreign_key_violation using message = format('%s, which %s is to block, is not set up', name, rjm_setup.id),
        hint = 'Children first: set up what waits before what it waits for.';
    elsif exists (select from bellhop.dependency d where d.job = child.id and d.needs = new_id) then
      null; -- two set up the same at once, and the other one was first
    elsif child.state = 'held'
       or child.state = 'blocked' and exists (select from bellhop.dependency d join bellhop.jobqueue r on r.id = d.needs
                                               where d.job = child.id and d.needs = rjm_setup.inside and not d.met and r.state in ('running', 'assigned')) then
      children := children || child.id;
    else
      raise object_not_in_prerequisite_state using message = format('%s, which %s is to block, is released already: it is %s', name, rjm_setup.id, child.state),
        hint = 'Only jobs that are not released can be blocked: it might have started. Set up everything before rjmgo.';
    end if;
  end loop;
  insert into bellhop.dependency (job, needs) select c, new_id from unnest(children) c;
  return new_id;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.row_job_key(name text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog'
AS $function$
  select case when length(name) + length(key) < 900 then name || '/' || key else left(name || '/' || key, 900) || '…' || md5(key) end
$function$;

CREATE OR REPLACE FUNCTION bellhop.stop_instances(name text, now boolean, said timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  n integer;
begin
  update bellhop.instance i
     set stop = case when stop_instances.now then 'now' else coalesce(i.stop, 'finish') end
   where i.state = 'live' and i.started_at <= stop_instances.said
     and (stop_instances.name is null or i.name = stop_instances.name or i.id::text = stop_instances.name);
  get diagnostics n = row_count;
  perform pg_notify('bellhop_due', '');
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.submit(type text, args text DEFAULT NULL::text, msq text DEFAULT NULL::text, repeat text DEFAULT NULL::text, run_on text DEFAULT NULL::text, key text DEFAULT NULL::text, priority integer DEFAULT 0, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, held boolean DEFAULT false, vars jsonb DEFAULT NULL::jsonb, locks text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], max_attempts integer DEFAULT 1, timeout interval DEFAULT NULL::interval, on_failure text DEFAULT 'fail'::text, traceparent text DEFAULT NULL::text, after bigint[] DEFAULT NULL::bigint[], after_keys text[] DEFAULT NULL::text[], wanted text[] DEFAULT '{succeeded}'::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  new_id bigint;
  old    bellhop.jobqueue;
  differ text[] := '{}';
  needs  bigint[] := '{}';
  names  text[];
begin
  if submit.priority not between -20 and 19 then
    raise check_violation using message = format('priority %s is out of range', submit.priority), hint = 'Priorities are -20 (first) to 19 (last); the default is 0.';
  end if;
  if submit.priority_name is not null then
    submit.priority := bellhop.priority_of(submit.priority_name);
  end if;
  insert into bellhop.jobqueue as j (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,
                                     max_attempts, timeout, on_failure, traceparent)
  values (submit.type, submit.args, submit.msq, submit.repeat, submit.run_on, submit.key, submit.priority, submit.priority_name,
          submit.run_at, submit.held, submit.vars, submit.locks, submit.reasons, submit.max_attempts, submit.timeout,
          submit.on_failure, coalesce(submit.traceparent, nullif(current_setting('bellhop.traceparent', true), '')))
  on conflict (key) where j.key is not null do nothing
  returning j.id into new_id;
  if submit.after is not null or submit.after_keys is not null then
    needs := array(select distinct x.id from (select unnest(submit.after) as id union all
                     select j.id from bellhop.jobqueue j where j.key = any (submit.after_keys)) x where x.id is not null);
    names := array(select n from unnest(submit.after_keys) n where not exists (select from bellhop.jobqueue j where j.key = n));
    if names <> '{}' and new_id is not null then
      raise foreign_key_violation using message = format('there is no job with the key "%s", which the new one would need', names[1]),
        hint = 'Submit what is needed first.';
    end if;
  end if;
  if new_id is not null then
    if needs <> '{}' then
      insert into bellhop.dependency (job, needs, wanted) select new_id, n, submit.wanted from unnest(needs) n;
    end if;
    return new_id;
  end if;

  select * into strict old from bellhop.jobqueue j where j.key = submit.key;
  if old.type          is distinct from submit.type          then differ := differ || format('type %L, not %L', old.type, submit.type); end if;
  if old.args          is distinct from submit.args          then differ := differ || format('args %L, not %L', old.args, submit.args); end if;
  if old.msq           is distinct from submit.msq           then differ := differ || format('msq %L, not %L', old.msq, submit.msq); end if;
  if old.repeat        is distinct from submit.repeat        then differ := differ || format('repeat %L, not %L', old.repeat, submit.repeat); end if;
  if old.run_on        is distinct from submit.run_on        then differ := differ || format('run_on %L, not %L', old.run_on, submit.run_on); end if;
  if old.priority      is distinct from submit.priority      then differ := differ || format('priority %s, not %s', old.priority, submit.priority); end if;
  if old.vars          is distinct from submit.vars          then differ := differ || format('vars %s, not %s', old.vars, submit.vars); end if;
  if old.locks         is distinct from submit.locks         then differ := differ || format('locks %s, not %s', old.locks, submit.locks); end if;
  if old.on_failure    is distinct from submit.on_failure    then differ := differ || format('on_failure %L, not %L', old.on_failure, submit.on_failure); end if;
  -- What it needs must be among what the first one needs: others may have been added to that since. What is not there
  -- any more was pruned.
  differ := differ || array(
    select case when d.job is null then format('no need of %s', bellhop.job_name(n.id))
                else format('need of %s as %s, not %s', bellhop.job_name(n.id), d.wanted, submit.wanted) end
      from unnest(needs) as n (id)
      left join bellhop.dependency d on d.job = old.id and d.needs = n.id
     where (d.job is null or d.wanted is distinct from submit.wanted)
       and exists (select from bellhop.jobqueue j where j.id = n.id)
     order by n.id);
  if differ <> '{}' then
    raise unique_violation using
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  return old.id;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.take_attached(id bigint, OUT taken integer, OUT ended integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_rows(attachment bigint, done jsonb, n integer, busy text[])
 RETURNS TABLE(what text, key text, line text, row_text text)
 LANGUAGE plpgsql
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.unmet_because(needs bigint, OUT why text, OUT root bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
declare
  other bellhop.jobqueue;
begin
  select * into other from bellhop.jobqueue j where j.id = unmet_because.needs;
  root := coalesce(other.ended_by, unmet_because.needs);
  if other.id is null then
    why := format('it needs job %s, which was deleted', unmet_because.needs);
  elsif other.ended_by is null then
    why := format('it needs %s, which is %s', bellhop.job_name(other.id), other.state);
  else
    why := format('it needs %s, which is %s because of %s', bellhop.job_name(other.id), other.state, bellhop.job_name(root));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.wait_for_gate(key bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform pg_advisory_lock(key); -- the session's: it outlives this statement
  return true;
exception when lock_not_available or query_canceled or deadlock_detected then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.weigh(jobs bigint[], sure boolean, OUT ready integer, OUT failed bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  firm bigint[] := '{}';
begin
  if sure then
    firm := array(select n.id from bellhop.jobqueue n
                   where n.id = any (array(select d.needs from bellhop.dependency d
                                            where d.job = any (jobs) and not d.counted and not d.met))
                     for share skip locked);
  end if;
  with open as materialized (
    select d.job, d.needs, d.wanted from bellhop.dependency d where d.job = any (jobs) and not d.counted
  ), other as materialized (
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  )
  update bellhop.dependency d
     set met = d.met or coalesce(n.over and (n.state = any (o.wanted) or j.on_failure = 'run'), n.id is null and j.on_failure = 'run'),
         counted = true
    from open o
    join bellhop.jobqueue j on j.id = o.job
    left join other n on n.id = o.needs
    left join unnest(firm) as f (id) on f.id = o.needs
   where d.job = any (jobs) and j.id = any (jobs) and d.job = o.job and d.needs = o.needs
     and (d.met or f.id is not null or coalesce(n.over, true)); -- over, or deleted

  with open as materialized (
    select d.job, d.needs, d.wanted from bellhop.dependency d where d.job = any (jobs) and not d.met
  ), other as materialized (
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  ), verdict as (
    -- One that has ended well since the statement above is not met yet, and whoever ended it counts it, or is looked after.
    select w.id as job, count(o.job) as unmet, min(o.needs) filter (where coalesce(n.over and n.state <> all (o.wanted), true)) as bad
      from unnest(jobs) as w (id)
      left join open o on o.job = w.id
      left join other n on n.id = o.needs
     group by w.id
  ), moved as (
    update bellhop.jobqueue j
       set unmet = case when j.held or v.bad is null or j.on_failure <> 'fail' then nullif(v.unmet, 0) end,
           state = case when j.held then 'held'
                        when v.bad is not null and j.on_failure = 'fail' then 'failed'
                        when v.unmet > 0 then 'blocked'
                        when j.run_at > clock_timestamp() then 'scheduled'
                        else 'ready' end,
           waiting_for = case when v.bad is not null and (j.held or j.on_failure <> 'fail') then 'failed_dependency: ' || bellhop.job_name(v.bad)
                              when v.unmet > 0 and v.bad is null and not j.held then 'dependencies' end,
           ended_at = case when v.bad is not null and j.on_failure = 'fail' and not j.held then clock_timestamp() end,
           error = case when v.bad is not null and j.on_failure = 'fail' and not j.held then (bellhop.unmet_because(v.bad)).why end,
           ended_by = case when v.bad is not null and j.on_failure = 'fail' and not j.held then (bellhop.unmet_because(v.bad)).root end
      from verdict v
     where j.id = any (jobs) and j.id = v.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.state
  )
  select coalesce(array_agg(m.id) filter (where m.state = 'failed'), '{}'), count(*) filter (where m.state = 'ready')
    into failed, ready
    from moved m;
  if ready > 0 then
    perform pg_notify('bellhop', '');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.why_waiting(type text, run_on text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  f     record;
  agent text := type; -- whose agent does it
begin
  -- RJM's workers take RJM's jobs of every type that has no agent of its own.
  if exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = 'rjm')
     and not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = why_waiting.type)
     and exists (select from bellhop.jobqueue j join bellhop.rjm r on r.job = j.id
                  where j.type = why_waiting.type and j.state = 'ready' and not j.held) then
    agent := 'rjm';
  end if;
  if not exists (select from bellhop.instance i where i.state = 'live') then
    return 'no_instance';
  elsif exists (select from bellhop.paused p where p.type in ('', why_waiting.type)) then
    return 'paused';
  elsif not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id
                     where i.state = 'live' and a.type = agent) then
    return 'unknown_type';
  end if;
  with place as (
    select h.name,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') end as down, a.trouble ->> h.name as failing,
           exists (select from bellhop.child c
                    where c.instance = h.instance and c.host = h.name and c.type = a.type and c.state = 'READY')
           or (select count(*) from bellhop.child c where c.instance = h.instance and c.host = h.name and c.state not in ('FREE', 'FAIL')) < h.slots
              and (a.max = 0 or a.max > (select count(*) from bellhop.child c where c.type = a.type and c.state not in ('FREE', 'FAIL')))
              and (a.max_per_host = 0 or a.max_per_host > (select count(*) from bellhop.child c
                    where c.instance = h.instance and c.host = h.name and c.type = a.type and c.state not in ('FREE', 'FAIL'))) as able
      from bellhop.instance i
      join bellhop.agent a on a.instance = i.id and a.type = agent
      join bellhop.host h on h.instance = i.id
     where i.state = 'live'
       and (why_waiting.run_on is null or bellhop.answers(h.name, h.serves, why_waiting.run_on)
            or exists (select from bellhop.located l where l.instance = i.id and l.key = why_waiting.run_on and h.name = any (l.hosts)))
  )
  select count(*) as n,
         count(*) filter (where down is null) as up,
         count(*) filter (where down is null and failing is null) as well,
         count(*) filter (where down is null and failing is null and able) as able,
         string_agg(distinct name || ': ' || down, '; ') as down,
         string_agg(distinct name || ': ' || failing, '; ') as failing
    into f
    from place;
  if f.n = 0 then
    return 'no_host' || coalesce(': ' || why_waiting.run_on, '')
        || coalesce((select ' (locate: ' || min(l.error) || ')' from bellhop.located l where l.key = why_waiting.run_on), '');
  elsif f.up = 0 then
    return 'host_down: ' || f.down;
  elsif f.well = 0 then
    return 'agent_fails: ' || f.failing;
  elsif f.able = 0 then
    return 'no_room';
  end if;
  return null;
end
$function$;

-- triggers
CREATE TRIGGER _050_command AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.type = ANY (ARRAY['command'::text, 'dummy'::text]))) EXECUTE FUNCTION bellhop.command();
CREATE TRIGGER _100_arrange AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.held OR (new.run_at IS NOT NULL) OR (new.priority_name IS NOT NULL))) EXECUTE FUNCTION bellhop.arrange();
CREATE TRIGGER _100_dependency_row BEFORE INSERT ON bellhop.dependency FOR EACH ROW EXECUTE FUNCTION bellhop.dependency_row();
CREATE TRIGGER _200_dependencies_came AFTER INSERT ON bellhop.dependency REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_came();
CREATE TRIGGER _200_dependencies_gone AFTER DELETE ON bellhop.dependency REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_gone();
CREATE TRIGGER _200_place AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.run_on IS NOT NULL)) EXECUTE FUNCTION bellhop.place();
CREATE TRIGGER _300_all_jobs_gone AFTER TRUNCATE ON bellhop.jobqueue FOR EACH STATEMENT EXECUTE FUNCTION bellhop.all_jobs_gone();
CREATE TRIGGER _300_jobs_gone AFTER DELETE ON bellhop.jobqueue REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.jobs_gone();
CREATE TRIGGER _900_ring AFTER INSERT ON bellhop.jobqueue FOR EACH STATEMENT WHEN ((NOT pg_try_advisory_xact_lock_shared('7090192401229115393'::bigint))) EXECUTE FUNCTION bellhop.ring();
