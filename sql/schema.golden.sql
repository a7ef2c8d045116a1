-- The schema after all migrations, written from the catalogs by `make generate`. Nobody runs this file.

table bellhop.agent (
  instance bigint not null,
  type text not null,
  mode text not null,
  dialect text not null,
  command text not null,
  max integer not null,
  max_per_host integer not null,
  trouble jsonb not null default '{}'::jsonb,
  local boolean not null default false,
  exclusive boolean not null default false,
  deaths jsonb not null default '{}'::jsonb,
  attempts integer not null default 1,
  locks text[] not null default '{}'::text[]
);

table bellhop.agent_words (
  instance bigint not null,
  type text not null,
  words jsonb not null default '{}'::jsonb
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
  state_since timestamp with time zone not null default clock_timestamp(),
  turn text not null default ('turn_'::text || replace((gen_random_uuid())::text, '-'::text, ''::text)),
  detached_at timestamp with time zone
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
  successes integer,
  reason text,
  spawned_at timestamp with time zone
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

table bellhop.deadline (
  job bigint not null,
  at timestamp with time zone not null
);

table bellhop.dependency (
  job bigint not null,
  needs bigint not null,
  wanted text[] not null default '{succeeded}'::text[],
  met boolean not null default false,
  counted boolean not null default false
);

table bellhop.event (
  workflow text not null,
  event text not null,
  at timestamp with time zone not null default clock_timestamp(),
  run bigint,
  slot timestamp with time zone,
  parameters jsonb not null default '{}'::jsonb
);

table bellhop.filter (
  id text not null default (gen_random_uuid())::text,
  priority integer not null default 0,
  watermark bigint not null,
  predicates jsonb not null default '[]'::jsonb,
  action text not null,
  reason text not null default ''::text,
  created_at timestamp with time zone not null default clock_timestamp(),
  created_by text not null
);

table bellhop.host (
  instance bigint not null,
  name text not null,
  slots integer not null,
  serves text[] not null default '{}'::text[],
  state text not null default 'up'::text,
  trouble text,
  state_since timestamp with time zone not null default clock_timestamp(),
  far boolean not null default false,
  only_types text[],
  only_priorities integer[],
  only_names text,
  only_rjm text
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
  paused text[] not null default '{}'::text[],
  queries integer,
  looked xid8,
  looked_at timestamp with time zone,
  draining_since timestamp with time zone,
  policy jsonb
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
  txid xid8 not null default pg_current_xact_id(),
  submitted_by text default 
CASE
    WHEN (current_setting('role'::text) = 'none'::text) THEN (SESSION_USER)::text
    ELSE current_setting('role'::text)
END,
  reason text,
  spawned_at timestamp with time zone,
  lost integer not null default 0,
  behind text,
  result jsonb,
  progress real,
  progress_text text,
  own_attempts boolean,
  run bigint,
  step text,
  not_after timestamp with time zone
);

unlogged table bellhop.located (
  instance bigint not null,
  key text not null,
  hosts text[] not null,
  error text,
  at timestamp with time zone not null default clock_timestamp()
);

table bellhop.lock_grant (
  level text not null,
  name text not null,
  job bigint not null,
  fence bigint not null,
  mode text not null,
  instance bigint,
  since timestamp with time zone not null default clock_timestamp(),
  until timestamp with time zone
);

table bellhop.lock_reserved (
  job bigint not null,
  since timestamp with time zone not null default clock_timestamp()
);

table bellhop.lock_wait (
  level text not null,
  name text not null,
  job bigint not null,
  fence bigint not null,
  mode text not null,
  instance bigint not null,
  since timestamp with time zone not null default clock_timestamp()
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

table bellhop.lost_run (
  job bigint not null,
  n integer not null,
  attempt integer not null,
  fence bigint not null,
  host text,
  child text,
  instance bigint,
  spawned_at timestamp with time zone,
  started_at timestamp with time zone,
  lost_at timestamp with time zone not null default clock_timestamp(),
  reason text not null
);

table bellhop.manager_stop (
  name text not null,
  at timestamp with time zone not null default clock_timestamp(),
  by text not null
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

table bellhop.run (
  id bigint not null generated always as identity,
  workflow text not null,
  version integer not null,
  event text,
  triggered_by text not null,
  state text not null,
  parameters jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  reason text,
  gate bigint,
  last bigint
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

table bellhop.sensor (
  workflow text not null,
  kind text not null,
  source text,
  next_fire timestamp with time zone,
  fired_at timestamp with time zone,
  problem text,
  since timestamp with time zone
);

table bellhop.set_aside (
  attachment bigint not null,
  digest bytea not null,
  key text not null,
  reason text not null,
  outcome boolean not null,
  times integer not null default 1,
  since timestamp with time zone not null default clock_timestamp(),
  again_at timestamp with time zone not null
);

table bellhop.workflow (
  name text not null,
  project text not null default ''::text,
  active boolean not null,
  version integer not null,
  definition jsonb not null,
  instance bigint,
  changed_at timestamp with time zone not null default clock_timestamp(),
  changed_by text not null
);

table bellhop.workflow_past (
  workflow text not null,
  version integer not null,
  what text not null,
  active boolean not null,
  definition jsonb not null,
  changed_at timestamp with time zone not null default clock_timestamp(),
  changed_by text not null
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
  successes integer,
  spawned_at timestamp with time zone
);

view bellhop.every_job (
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
  ended_by bigint,
  submitted_by text,
  lost integer,
  result jsonb,
  progress real,
  progress_text text,
  run bigint,
  step text,
  not_after timestamp with time zone
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
  ended_by bigint,
  submitted_by text,
  lost integer,
  result jsonb,
  progress real,
  progress_text text,
  run bigint,
  step text,
  not_after timestamp with time zone
);

view bellhop.job_log (
  id bigint,
  job bigint,
  attempt integer,
  child text,
  host text,
  level text,
  at timestamp with time zone,
  line text
);

view bellhop.lock (
  level text,
  name text,
  mode text,
  job bigint,
  fence bigint,
  instance bigint,
  since timestamp with time zone
);

view bellhop.lock_waiting (
  level text,
  name text,
  mode text,
  job bigint,
  fence bigint,
  instance bigint,
  since timestamp with time zone
);

view bellhop.lockable (
  id bigint,
  type text,
  run_on text,
  priority smallint,
  priority_name text,
  msq text,
  created_at timestamp with time zone,
  locks text[],
  reasons text[],
  behind text,
  args text,
  key text,
  vars jsonb,
  submitted_by text
);

view bellhop.lockable_row (
  id bigint,
  type text,
  priority smallint,
  created_at timestamp with time zone,
  locks text[],
  reasons text[],
  args text,
  key text,
  vars jsonb,
  run_on text,
  submitted_by text
);

view bellhop.lost (
  job bigint,
  n integer,
  attempt integer,
  fence bigint,
  host text,
  child text,
  instance bigint,
  spawned_at timestamp with time zone,
  started_at timestamp with time zone,
  lost_at timestamp with time zone,
  reason text
);

view bellhop.startable (
  id bigint,
  type text,
  run_on text,
  priority smallint,
  priority_name text,
  msq text
);

view bellhop.step (
  run bigint,
  step text,
  job bigint,
  type text,
  state text,
  attempt integer,
  exit_code integer,
  created_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  workflow text
);

-- constraints
alter table bellhop.agent add constraint agent_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.agent add constraint agent_pkey PRIMARY KEY (instance, type);
alter table bellhop.agent_words add constraint agent_words_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.agent_words add constraint agent_words_pkey PRIMARY KEY (instance, type);
alter table bellhop.asserted add constraint asserted_pkey PRIMARY KEY (instance);
alter table bellhop.attached add constraint attached_attachment_fkey FOREIGN KEY (attachment) REFERENCES bellhop.attachment(id) ON DELETE CASCADE;
alter table bellhop.attached add constraint attached_pkey PRIMARY KEY (attachment, digest);
alter table bellhop.attachment add constraint attachment_cmd CHECK (((cmd[1] <> ''::text) AND (array_position(cmd, NULL::text) IS NULL)));
alter table bellhop.attachment add constraint attachment_has_key CHECK ((cardinality(key_columns) > 0));
alter table bellhop.attachment add constraint attachment_log_dir CHECK (((log_dir IS NULL) OR ((log_dir ~~ '/%'::text) AND (cmd IS NOT NULL))));
alter table bellhop.attachment add constraint attachment_name_not_empty CHECK ((name <> ''::text));
alter table bellhop.attachment add constraint attachment_pkey PRIMARY KEY (id);
alter table bellhop.attachment add constraint attachment_pool_range CHECK (((pool >= 0) AND (pool <= 10000)));
alter table bellhop.attachment add constraint attachment_state_known CHECK ((state = ANY (ARRAY['ok'::text, 'broken'::text])));
alter table bellhop.attachment add constraint attachment_type CHECK ((type <> ALL (ARRAY[''::text, 'command'::text, 'attachment'::text])));
alter table bellhop.attachment add constraint attachment_type_or_cmd CHECK (((type IS NULL) <> (cmd IS NULL)));
alter table bellhop.attachment add constraint attachment_workdir CHECK ((workdir ~~ '/%'::text));
alter table bellhop.attempt_past add constraint attempt_past_pkey PRIMARY KEY (job, attempt, fence);
alter table bellhop.child add constraint child_pkey PRIMARY KEY (instance, host, name);
alter table bellhop.deadline add constraint deadline_pkey PRIMARY KEY (job);
alter table bellhop.dependency add constraint dependency_not_itself CHECK ((job <> needs));
alter table bellhop.dependency add constraint dependency_pkey PRIMARY KEY (job, needs);
alter table bellhop.dependency add constraint dependency_wanted_ends CHECK (((wanted <> '{}'::text[]) AND (wanted <@ ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'quarantined'::text])));
alter table bellhop.event add constraint event_event_check CHECK (((event <> ''::text) AND (length(event) <= 200)));
alter table bellhop.event add constraint event_pkey PRIMARY KEY (workflow, event);
alter table bellhop.filter add constraint filter_id_check CHECK ((id ~ '^[A-Za-z0-9._-]{1,100}$'::text));
alter table bellhop.filter add constraint filter_pkey PRIMARY KEY (id);
alter table bellhop.filter add constraint filter_predicates_check CHECK ((jsonb_typeof(predicates) = 'array'::text));
alter table bellhop.filter add constraint filter_priority_check CHECK ((priority >= 0));
alter table bellhop.host add constraint host_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.host add constraint host_pkey PRIMARY KEY (instance, name);
alter table bellhop.host add constraint host_state_check CHECK ((state = ANY (ARRAY['up'::text, 'connecting'::text, 'down'::text])));
alter table bellhop.instance add constraint instance_pkey PRIMARY KEY (id);
alter table bellhop.instance add constraint instance_state_check CHECK ((state = ANY (ARRAY['live'::text, 'gone'::text])));
alter table bellhop.instance add constraint instance_stop_check CHECK ((stop = ANY (ARRAY['finish'::text, 'now'::text])));
alter table bellhop.item add constraint item_pkey PRIMARY KEY (job, fence, item);
alter table bellhop.jobqueue add constraint jobqueue_pkey PRIMARY KEY (id);
alter table bellhop.jobqueue add constraint jobqueue_state_known CHECK ((state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'ready'::text, 'assigned'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'quarantined'::text])));
alter table bellhop.located add constraint located_pkey PRIMARY KEY (instance, key);
alter table bellhop.lock_grant add constraint lock_grant_mode_check CHECK ((mode = ANY (ARRAY['exclusive'::text, 'shared'::text, 'slot'::text, 'turn'::text, 'kept'::text])));
alter table bellhop.lock_grant add constraint lock_grant_pkey PRIMARY KEY (level, name, job);
alter table bellhop.lock_reserved add constraint lock_reserved_pkey PRIMARY KEY (job);
alter table bellhop.lock_wait add constraint lock_wait_mode_check CHECK ((mode = ANY (ARRAY['exclusive'::text, 'shared'::text])));
alter table bellhop.lock_wait add constraint lock_wait_pkey PRIMARY KEY (level, name, job);
alter table bellhop.log add constraint log_pkey PRIMARY KEY (id);
alter table bellhop.lost_run add constraint lost_run_pkey PRIMARY KEY (job, n);
alter table bellhop.manager_stop add constraint manager_stop_pkey PRIMARY KEY (name);
alter table bellhop.paused add constraint paused_pkey PRIMARY KEY (type);
alter table bellhop.rjm add constraint rjm_pkey PRIMARY KEY (job);
alter table bellhop.rjm add constraint rjm_state_check CHECK ((state = ANY (ARRAY['done'::text, 'dusting'::text, 'old'::text])));
alter table bellhop.run add constraint run_pkey PRIMARY KEY (id);
alter table bellhop.run add constraint run_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'skipped'::text])));
alter table bellhop.schema_script add constraint schema_script_pkey PRIMARY KEY (name);
alter table bellhop.schema_version add constraint schema_version_pkey PRIMARY KEY (version);
alter table bellhop.sensor add constraint sensor_pkey PRIMARY KEY (workflow);
alter table bellhop.set_aside add constraint set_aside_attachment_fkey FOREIGN KEY (attachment) REFERENCES bellhop.attachment(id) ON DELETE CASCADE;
alter table bellhop.set_aside add constraint set_aside_pkey PRIMARY KEY (attachment, digest);
alter table bellhop.workflow add constraint workflow_name CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'::text));
alter table bellhop.workflow add constraint workflow_pkey PRIMARY KEY (name);
alter table bellhop.workflow_past add constraint workflow_past_pkey PRIMARY KEY (workflow, version);
alter table bellhop.workflow_past add constraint workflow_past_what_check CHECK ((what = ANY (ARRAY['created'::text, 'changed'::text, 'activated'::text, 'deactivated'::text, 'deleted'::text])));

-- indexes
CREATE INDEX attached_job ON bellhop.attached USING btree (job);
CREATE INDEX attached_live ON bellhop.attached USING btree (attachment) WHERE live;
CREATE UNIQUE INDEX attachment_name ON bellhop.attachment USING btree (name) WHERE (detached_at IS NULL);
CREATE UNIQUE INDEX attachment_table ON bellhop.attachment USING btree (rel, dispatch_column) WHERE (detached_at IS NULL);
CREATE INDEX deadline_at ON bellhop.deadline USING btree (at);
CREATE INDEX dependency_needs ON bellhop.dependency USING btree (needs);
CREATE INDEX dependency_open ON bellhop.dependency USING btree (needs) WHERE (NOT met);
CREATE INDEX dependency_uncounted ON bellhop.dependency USING btree (job) WHERE (NOT counted);
CREATE INDEX event_of ON bellhop.event USING btree (workflow, at);
CREATE INDEX event_open ON bellhop.event USING btree (at) WHERE (run IS NULL);
CREATE INDEX instance_live ON bellhop.instance USING btree (id) WHERE (state = 'live'::text);
CREATE INDEX jobqueue_floor ON bellhop.jobqueue USING btree (txid, type) WHERE ((state = 'ready'::text) AND (txid > '0'::xid8));
CREATE UNIQUE INDEX jobqueue_key ON bellhop.jobqueue USING btree (key) WHERE (key IS NOT NULL);
CREATE INDEX jobqueue_locked ON bellhop.jobqueue USING btree (COALESCE(behind, ''::text), type, priority, id) WHERE ((locks IS NOT NULL) AND (state = 'ready'::text) AND (NOT held));
CREATE INDEX jobqueue_parked ON bellhop.jobqueue USING btree (state, held, run_at, id) WHERE ((state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'failed'::text, 'quarantined'::text])) OR ((state = 'ready'::text) AND (run_at IS NOT NULL)));
CREATE INDEX jobqueue_pinned ON bellhop.jobqueue USING btree (type, run_on, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NOT NULL) AND (locks IS NULL));
CREATE INDEX jobqueue_ready ON bellhop.jobqueue USING btree (type, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NULL) AND (locks IS NULL));
CREATE INDEX jobqueue_taken ON bellhop.jobqueue USING btree (instance) WHERE (state = ANY (ARRAY['assigned'::text, 'running'::text]));
CREATE INDEX log_job ON bellhop.log USING btree (job, id);
CREATE INDEX rjm_dusty ON bellhop.rjm USING btree (job) WHERE (state <> 'old'::text);
CREATE INDEX run_ended ON bellhop.run USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_of ON bellhop.run USING btree (workflow, id);
CREATE INDEX run_open ON bellhop.run USING btree (workflow, id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX sensor_next ON bellhop.sensor USING btree (next_fire) WHERE (next_fire < 'infinity'::timestamp with time zone);
CREATE INDEX sensor_source ON bellhop.sensor USING btree (source) WHERE (source IS NOT NULL);
CREATE INDEX workflow_instance ON bellhop.workflow USING btree (instance) WHERE active;

CREATE OR REPLACE FUNCTION bellhop.all_jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  delete from bellhop.lost_run;
  delete from bellhop.dependency; -- a TRUNCATE of both would not let itself be joined by another
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.answers(host text, serves text[], key text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select key = host or exists (
    select from unnest(serves) p
     where key like replace(replace(replace(replace(replace(p, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_'))
$function$;

CREATE OR REPLACE FUNCTION bellhop.applying_filter(j bellhop.jobqueue)
 RETURNS bellhop.filter
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  f bellhop.filter;
begin
  if j.type in ('command', 'dummy') then
    return null;
  end if;
  for f in select r.* from bellhop.filter r where r.action <> 'CONTINUE' order by r.priority, r.watermark, r.id collate "C" loop
    if bellhop.filter_matches(f, j) then
      return f;
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.arrange()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  update bellhop.jobqueue j
     set state = case when j.held then 'held'
                      when j.unmet is not null then 'blocked'
                      when j.run_at > clock_timestamp() then 'scheduled'
                      else j.state end,
         priority = coalesce(bellhop.priority_of(j.priority_name), j.priority)
   where j.id = new.id and j.state in ('ready', 'held', 'blocked');
  if new.not_after is not null then
    insert into bellhop.deadline (job, at) values (new.id, new.not_after) on conflict (job) do update set at = excluded.at;
    perform pg_notify('bellhop_due', '');
  end if;
  if new.run_at is not null then
    perform pg_notify('bellhop_due', ''); -- the timer for the next due row may have to be set earlier
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.attach(tab regclass, type text DEFAULT NULL::text, cmd text[] DEFAULT NULL::text[], pool integer DEFAULT NULL::integer, workdir text DEFAULT NULL::text, log_dir text DEFAULT NULL::text, key text[] DEFAULT NULL::text[], dispatch text DEFAULT 'dispatch'::text, status_col text DEFAULT NULL::text, exit_col text DEFAULT NULL::text, index boolean DEFAULT false, name text DEFAULT NULL::text, OUT id bigint, OUT statements text[])
 RETURNS record
 LANGUAGE sql
BEGIN ATOMIC
 SELECT a.id,
     a.statements
    FROM bellhop.attach_under(current_setting('search_path'::text), pg_table_is_visible((attach.tab)::oid), attach.tab, attach.type, attach.cmd, attach.pool, attach.workdir, attach.log_dir, attach.key, attach.dispatch, attach.status_col, attach.exit_col, attach.index, attach.name) a(id, statements);
END;

CREATE OR REPLACE FUNCTION bellhop.attach_under(their_path text, visible boolean, tab regclass, type text, cmd text[], pool integer, workdir text, log_dir text, key text[], dispatch text, status_col text, exit_col text, index boolean, name text, OUT id bigint, OUT statements text[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
    raise wrong_object_type using message = format('%s is no table', full_name), hint = 'Name a table.';
  elsif c.relpersistence = 't' then
    raise wrong_object_type using message = format('%s is a temporary table, which only this session sees', full_name), hint = 'Make it a table that stays.';
  elsif c.relnamespace = 'pg_catalog'::regnamespace
     -- A user called bellhop may well have tables of his own in his schema.
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
    select array_agg(k order by o) into keys from pg_index i cross join unnest(i.indkey) with ordinality x (k, o)
     where i.indrelid = tab and i.indisprimary and o <= i.indnkeyatts; -- not what is included besides
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.attached_column(tab regclass, col text, purpose text)
 RETURNS smallint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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

CREATE OR REPLACE FUNCTION bellhop.attached_key(rel regclass, columns smallint[], OUT ordering text, OUT key_text text, OUT parsed text, OUT matches text, OUT again text, OUT returned text, OUT steady boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.attachment_named(name text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT bellhop.attachment_under(current_setting('search_path'::text), name) AS attachment_under;
END;

CREATE OR REPLACE FUNCTION bellhop.attachment_under(their_path text, name text)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ids bigint[];
  tab oid;
begin
  select array_agg(x.id) into ids from bellhop.attachment x where x.name = attachment_under.name and x.detached_at is null;
  if ids is null and name ~ '\S' then
    begin
      perform set_config('search_path', their_path, true);
      tab := pg_catalog.to_regclass(name);
      perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
      select array_agg(x.id) into ids from bellhop.attachment x where x.rel::oid = tab and x.detached_at is null;
    exception when syntax_error or invalid_name or feature_not_supported then
      null; -- no table can be called so; and the path is what it was
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

CREATE OR REPLACE FUNCTION bellhop.caller()
 RETURNS name
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT
         CASE
             WHEN (current_setting('role'::text) = 'none'::text) THEN SESSION_USER
             ELSE (current_setting('role'::text))::name
         END AS current_setting;
END;

CREATE OR REPLACE FUNCTION bellhop.cancel(id bigint, now boolean DEFAULT false)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  was    text;
  of_run bigint;
begin
  if not bellhop.refuse_others(cancel.id, 'cancel') then
    return null;
  end if;
  -- The lock settles the race with a claim or an outcome.
  -- Who waits for a lock that it asked for while it ran has a process that must be dead first.
  select case when j.state = 'assigned' and j.waiting_for like 'lock_held: %' then 'running' else j.state end,
         case when j.type = 'dummy' then j.run end into was, of_run
    from bellhop.jobqueue j where j.id = cancel.id for update;
  if of_run is not null and was = 'blocked' then
    raise object_not_in_prerequisite_state using message = format('job %s is none of the steps of run %s, but waits for them', cancel.id, of_run),
      hint = format('Cancel its steps: select bellhop.cancel(job) from bellhop.step where run = %s', of_run);
  end if;
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

CREATE OR REPLACE FUNCTION bellhop.carry_out(statements text[], their_path text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.causes()
 RETURNS TABLE(cause text, code text, of text, stuck boolean, means text, sentence text, next text)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select c.cause, split_part(c.cause, '/', 1), c.of, c.stuck, c.means, c.sentence, c.next
    from (values
    -- What the row itself says.
    ('held', 'waiting', true, 'it was submitted with `held`',
      'It is held: it starts when it is released.', 'bellhop release {id}'),
    ('blocked', 'waiting', false, 'a job that it needs is not over as wanted; one line each',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}.', 'bellhop explain {needs}'),
    ('blocked/ended', 'waiting', false, '',
      'It needs job {needs} ({type}) to be {wanted}; that one is {state}, and this one waits until that changes.', 'bellhop retry {needs}'),
    ('blocked/deleted', 'waiting', true, '',
      'It needs job {needs}, which was deleted, so that it can never start. Without that need it can: delete from bellhop.dependency where job = {id} and needs = {needs}.', 'bellhop cancel {id}'),
    ('blocked/unseen', 'waiting', false, '',
      'Its needs came with triggers disabled or are being changed; an instance counts them with its next look.', 'bellhop kick'),
    ('scheduled', 'waiting', false, '`run_at` has not come',
      'It is to start at {at}{in}.', 'bellhop cancel {id}'),
    ('retry_delay', 'waiting', false, 'an attempt failed, the next one is put off',
      'Attempt {attempt} of {most} failed; the next one starts at {at}{in}. It failed so: {error}', 'bellhop logs {id}'),
    ('snoozed', 'waiting', false, 'its agent has put it off, by its words or its exit code; that is no attempt',
      'Its agent has put it off: it starts at {at}{in}, and no attempt is counted.', 'bellhop logs {id}'),
    ('in_hand', 'waiting', false, 'a transaction that is not over has its row locked',
      'A transaction has its row locked{since}, and claims pass over it until that ends: {who}.', 'psql "$DATABASE_URL" -c "select pg_terminate_backend({pid})"'),
    ('in_hand/prepared', 'waiting', false, '',
      'A prepared transaction has its row locked{since}, and claims pass over it until that ends.', 'psql "$DATABASE_URL" -c "rollback prepared ''{gid}''"'),

    -- What holds back all jobs of its type, and of its place and priority.
    ('no_instance', 'waiting', true, 'no instance of the scheduler lives on this database',
      'No instance of the scheduler is running on this database{since}.', 'bellhop serve'),
    ('paused', 'waiting', true, 'an operator paused its type, or everything',
      'Type {type} is paused since {at} by {by}.', 'bellhop resume {type}'),
    ('paused/all', 'waiting', true, '',
      'Everything is paused since {at} by {by}.', 'bellhop resume'),
    ('unknown_type', 'waiting', true, 'no live instance has an agent of its type',
      'No running instance has an agent of type {type}.{there}', 'add it under agents in bellhop.yaml, and start bellhop serve anew'),
    ('unknown_type/row', 'waiting', true, '',
      'It is a row of an attached table with a command of its own, and no running instance obeys commands that stand in the database.',
      'write commands_from_database: true into bellhop.yaml, and start bellhop serve anew'),
    ('no_host', 'waiting', true, 'no host may run it: none answers to its `run_on` (by name, `serves` or `locate`), or those that do take no such job (`only_types`, `only_priorities`, `local`, no agent of its type)',
      'No host answers to run_on {place}{locate}.{there}', 'bellhop hosts'),
    ('no_host/none', 'waiting', true, '',
      'No instance that has its agent has a host.', 'bellhop hosts'),
    ('no_host/refused', 'waiting', true, '',
      'No host may run it: {hosts}.', 'bellhop hosts'),
    ('instance_stopping', 'waiting', true, 'the instances that could take it were told to stop',
      'Every instance that could take it has been told to stop, and starts nothing more: {instances}.', 'bellhop serve'),
    ('instance_silent', 'waiting', false, 'its instance, or those that could take it, have not been heard of; after their `lag` others take over',
      'Every instance that could take it is silent: {instances}.', 'bellhop instances'),
    ('host_down', 'waiting', true, 'the hosts that may run it cannot be reached; they are tried again by themselves',
      'No host that it may run on can be reached: {hosts}.', 'bellhop hosts'),
    ('agent_fails', 'waiting', true, 'its agent died too often, or does not come up; it is tried again after a pause, and nothing but the agent has to be mended',
      'Its agent does not come up; it is tried again after a while. By host: {hosts}.', 'bellhop agents'),
    ('exclusive', 'waiting', false, 'its agent is `exclusive`, or a job of such an agent runs, or waits to: nothing else runs beside it on that instance',
      'It starts when nothing else runs on its instance: {jobs}.', 'bellhop ls -s running'),
    ('exclusive/behind', 'waiting', false, '',
      'A job that must be alone on its instance comes first: {jobs}.', 'bellhop ls -s running'),
    ('lock_held', 'waiting', false, 'a job that runs holds a lock that does not go together with one of its own; one line each',
      'It needs the lock {lock}; job {job} ({type}) holds {held}{since}.', 'bellhop explain {job}'),
    ('lock_held/asked', 'running', false, '',
      'It has begun, and waits for a lock that its agent asked for: {what}.', 'bellhop locks'),
    ('lock_held/items', 'running', false, '',
      'All items of its query that were read wait, or let others go first: {what}.', 'bellhop locks'),
    ('no_resources', 'waiting', false, 'its agent asked for some of several locks, and too few were free; it is tried again, and that counts as no attempt',
      'Its agent asked for more locks than were free: {what}. It is tried again at {at}{in}.', 'bellhop locks'),
    ('lock_reserved', 'waiting', false, 'a job that has waited for very long comes first, and this one would be in its way',
      'It would be in the way of a job that has waited longer: {what}.', 'bellhop locks'),
    ('rate_limited', 'waiting', false, 'as many run, or have started, as a filter, or a limit among its `reasons`, allows',
      'A limit is reached: {what}.', 'bellhop locks'),
    ('rate_limited/filter', 'waiting', false, '',
      'Filter {rule} ({action}) lets no more start just now: {what}.{why}', 'bellhop filter info {rule}'),
    ('filter_paused', 'waiting', false, 'a filter says that it waits; deleting the filter lets it go',
      'Filter {rule} pauses it.{why}', 'bellhop filter info {rule}'),
    ('locks_malformed', 'waiting', true, 'its locks cannot be read, or name a level that is not configured',
      'Its locks cannot be obeyed: {what}.', 'bellhop cancel {id}'),
    ('queries_full', 'waiting', false, 'each instance reads so many queries (MSQ jobs) at once; a job of a type that has none on a host is let in beyond that',
      'Every instance that could take it reads as many queries as it may at once: {instances}.', 'bellhop ls -s running'),
    ('no_room', 'waiting', false, 'slots, `max` or `max_per_host` are used up; what holds them is told. More of them help, or a higher urgency',
      'Every place that it may take is taken: {limits}.{children} An idle child of another type makes room.', 'bellhop ls -s running'),
    ('queued', 'waiting', false, 'other jobs come first, by priority and age',
      '{jobs} of its type {come} first, by priority and age.', 'bellhop ls -s ready -t {type}'),
    ('queued/others', 'waiting', false, '',
      'More urgent work waits for the hosts that could run it: job {job} of type {other}, priority {priority}.', 'bellhop explain {job}'),
    ('waits', 'waiting', false, 'something else that the row''s `waiting_for` names',
      'It waits for: {what}.', 'bellhop show {id}'),
    ('not_looked_at', 'waiting', false, 'it is ready, and no instance has looked since it is',
      'It became ready after the last look of an instance{looked}; the next one is on its way.', 'bellhop kick'),
    ('unexplained', 'waiting', true, 'none of all these: a fault of bellhop, which an instance also writes into its log',
      'An instance has looked since it is ready, and has not taken it, and no cause is known. That is a fault of bellhop. Looked at were: {checked}. See the log of the instance, and report what it says.', 'bellhop doctor'),

    -- What it does now.
    ('child_starting', 'running', false, 'an instance has it, and a child is coming up; since when, and why the last one died',
      'Instance {instance} has it{since}: a child of its type is coming up on {host}{child}.', 'bellhop agents'),
    ('child_starting/silent', 'running', false, '',
      'Instance {instance} has it{since}: {child} runs on {host} and has not said OK yet. A plain program, which says none, wants mode: exec in bellhop.yaml.', 'bellhop agents'),
    ('last_death', 'beside', false, 'why the last child of its type died, on the host that has the job',
      'The last child of its type on {host} died at {at}, the {n}. in a row without finishing anything: {why}', 'bellhop agents'),
    ('child_starting/first', 'waiting', false, '',
      'Children of its type come up one at a time, until one has said OK or finished something: {children}.', 'bellhop agents'),
    ('running', 'running', false, 'it runs: where, by which child, since when',
      'It runs since {at} ({for}) on {host}{child}, instance {instance}, attempt {attempt} of {most}{items}.', 'bellhop logs -f {id}'),
    ('items_wait', 'running', false, 'items of its query wait, and none of them runs: for which host, and why',
      '{n} of its items wait{place}{since}: {why}', '{next}'),
    ('items_wait/starting', 'running', false, '',
      '{n} of its items wait{place}{since}: a child of its type is coming up, or about to.', 'bellhop agents'),
    ('cancel_requested', 'running', false, 'it was asked to stop, and is not dead yet',
      'It has been asked to stop: it is over when its last process is dead.', 'bellhop cancel --now {id}'),
    ('cancel_requested/killed', 'running', false, '',
      'It has been killed (by {by}): it is over when its last process is dead.', 'bellhop cancel --now {id}'),

    ('instance_silent/one', 'running', false, '',
      'Instance {instance} ({name}) has not been heard of for {for}; after {lag} it is taken for dead, and what it holds is given to others.', 'bellhop instances'),
    ('instance_stopping/one', 'running', false, '',
      'Instance {instance} ({name}) has been told to stop ({how}), and starts nothing more.', 'bellhop instances'),

    -- How it ended.
    ('succeeded', 'ended', false, 'done; `bellhop retry ID` runs it again',
      'It is done.{items}', 'bellhop retry {id}'),
    ('cancelled', 'ended', false, 'it was cancelled',
      'It was cancelled.', 'bellhop retry {id}'),
    ('filter_rejected', 'ended', false, 'a filter says REJECT, and it waited; with the filter gone, `bellhop retry ID`',
      'It was cancelled by a filter: {error}.', 'bellhop filter info {rule}'),
    ('expired', 'ended', false, 'it had not begun by its `not_after`; `bellhop retry ID` runs it all the same',
      'It is too late for it: {error}.', 'bellhop retry {id}'),
    ('killed', 'ended', false, '`killjob`',
      'It was killed by the wish of a user: {by}.', 'bellhop retry {id}'),
    ('timeout', 'ended', false, 'it took longer than its `timeout`; a longer one, then `bellhop retry ID`',
      'It took longer than it may, and was ended: {error}.', 'bellhop retry {id}'),
    ('agent_failed', 'ended', false, 'the agent said so, or its exit code',
      'Its agent failed, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('agent_died', 'ended', false, 'the agent''s process ended with it in hand',
      'Its agent died with it in hand, exit code {exit_code}: {error}', 'bellhop logs -e {id}'),
    ('no_heartbeat', 'ended', false, 'its agent (dialect fossology) said for too long that nothing moves, or nothing at all',
      'Its agent was ended, since it did not move: {error}', 'bellhop logs -e {id}'),
    ('quarantined', 'ended', false, 'three agents died of it; mend the agent or the job',
      '{deaths} agents have died of it, and no more shall: {error}', 'bellhop logs -e {id}'),
    ('result_refused', 'ended', false, 'what its agent gave back is too long (`limits.result`), or cannot be kept as jsonb; it is not tried again by itself',
      'What its agent gave back was not kept: {error}.', 'bellhop logs {id}'),
    ('args_too_long', 'ended', false, 'its argument is longer than the system takes on a command line',
      'Its argument is longer than a command line of the system may be.', 'bellhop show {id}'),
    ('vars_refused', 'ended', false, 'its agent does not take one of its `vars`; `agents[].vars` names those that it takes',
      'Its agent does not take what it brings: {error}.', 'bellhop show {id}'),
    ('not_data', 'ended', false, 'its data cannot be said in its agent''s dialect',
      'Its agent''s dialect cannot carry its data: {error}.', 'bellhop show {id}'),
    ('invalid_agent', 'ended', false, 'its agent''s version differs from the first that was heard, or is missing',
      'Its agent is not the one that is expected: {error}.', 'bellhop agents'),
    ('no_attachment', 'ended', false, 'it was a row of an attached table, and that was detached',
      'Its row''s table is not attached any more, so that nothing says what to run.', 'bellhop attachments'),
    ('msq_error', 'ended', false, 'PostgreSQL refuses the query, with the place in it',
      'PostgreSQL refuses its query: {error}', 'bellhop show {id}'),
    ('no_columns', 'ended', false, 'its query selects no column',
      'Its query is of no use: {error}.', 'bellhop show {id}'),
    ('items_failed', 'ended', false, 'items failed while others are done',
      '{failed} of its items failed, {done} are done.{first}', 'bellhop show {id}'),
    ('too_many_failures', 'ended', false, 'so many items failed that the rest was not tried',
      '{failed} of its items failed, {done} are done, and the rest was not tried: {error}.{first}', 'bellhop show {id}'),
    ('no_progress', 'ended', false, 'an `until_empty` query yields the same rows for ever; mend the query, or the agent',
      'Its query would have run for ever: {error}.', 'bellhop show {id}'),
    ('needs_failed', 'ended', false, 'a job that it needs ended otherwise, so it never ran',
      'It never ran: {error}.', 'bellhop explain {root}'),
    ('needs_failed/deleted', 'ended', false, '',
      'It never ran: {error}. Submit it anew without that need.', 'bellhop show {id}'),
    ('needs_cycle', 'ended', false, 'it and others needed each other; their needs came with triggers disabled',
      'It never ran: {error}.', 'bellhop graph {id}'),
    ('never_ran', 'ended', false, 'it was marked as over before it began, by hand or through a view',
      'It ended before it began: {error}', 'bellhop retry {id}'),
    ('command_failed', 'ended', false, 'a command in the queue could not be carried out',
      'The command was not carried out: {error}.', 'bellhop submit command --help'),

    -- Why a row of an attached table does not run (bellhop.explain_row).
    ('attachment_broken', 'row', true, 'no row of its table runs, and why',
      'No row of {name} runs: {why}.', 'bellhop attachments'),
    ('row_has_job', 'row', false, 'the row runs, or waits as a job',
      'It has been taken: its job is {job}, which is {state}. Should it be asked for again meanwhile, it runs once more after that.', 'bellhop explain {job}'),
    ('outcome_pending', 'row', false, 'its job is over, and what became of it is not in the table yet',
      'Job {job} has {state}, and that is still to be written into the table: a transaction has the row locked.', 'bellhop explain {job}'),
    ('outcome_pending/refused', 'row', true, '',
      'Job {job} has {state}, and the table does not let that be written: {why}. It is tried again at {at}, and the row runs again only after that.', 'bellhop attach {table}'),
    ('row_set_aside', 'row', true, 'the table does not let it be marked as taken: a trigger, a rule, a constraint. Mend that; then another try at once',
      'It could not be marked as taken, and is set aside: {why}. Tried so far: {times}; tried again at {at}.', 'bellhop attach {table}'),
    ('pool_paused', 'row', true, 'the pool of its table is 0',
      'The pool of {name} is 0: nothing of it starts.', 'bellhop attach {table} --pool 4'),
    ('pool_full', 'row', false, 'as many rows of its table run as its pool has places',
      'All {pool} places of {name} are taken. Rows come in the order of their keys.', 'bellhop attach {table} --pool {more}'),
    ('row_ran', 'row', false, 'it is not asked for: its dispatch column is not NULL',
      'It ran last as job {job}, which is {state}. It runs again when its dispatch column is set to NULL.', 'bellhop explain {job}'),
    ('not_taken', 'row', false, 'there is no such row, or its transaction is not over, or it is locked',
      'It has never been taken. It is if there is a row with the key {key} and its dispatch column is NULL, when its transaction has ended and nothing has it locked; at the latest 5 s after that.', 'bellhop kick'),
    ('not_taken/inherited', 'row', false, '',
      'It has never been taken. It is if there is a row with the key {key} and its dispatch column is NULL. Rows of tables that inherit from this one are not its own, and are not run: {children}.', 'bellhop kick'),

    -- What comes beside these.
    ('ran_on', 'beside', false, 'attempt, host, child, from when to when',
      'Attempt {attempt} of {most}, on {host}{child}, from {from} to {to} ({for}).', 'bellhop show {id}'),
    ('lost', 'beside', false, 'a run of it was lost with its host or instance and given back; it counts as no attempt',
      'Lost: {reason}, given back. That run was on {host}{child}, from {from} to {to} ({for}), and counts as no attempt.{more}', 'bellhop trace {id}'),
    ('last_words', 'beside', false, 'the last lines of stderr, `ERROR` and the scheduler''s notes; for operators',
      e'The last that was said:\n    {words}', 'bellhop logs -e {id}')
  ) as c (cause, of, stuck, means, sentence, next)
$function$;

CREATE OR REPLACE FUNCTION bellhop.column_of(rel regclass, attnum smallint, purpose text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  if new.type = 'dummy' then -- it needs no agent: bellhop.pass_dummies
    perform pg_notify('bellhop_due', '');
    return null;
  end if;
  if not bellhop.is_operator() then
    raise insufficient_privilege using
      message = format('permission denied: %s may not give commands to the scheduler', bellhop.caller()),
      hint = format('Jobs of type command are for operators: grant bellhop_operator to %I.', bellhop.caller());
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
 SET search_path TO 'pg_catalog', 'pg_temp'
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
    lock table bellhop.dependency_turn in exclusive mode; -- nobody else may
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
  perform bellhop.ended(w.failed) from bellhop.resolve(jobs, false) w;
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
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select g.job from gone g where not g.met)) and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id for no key update);
  if jobs <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.resolve(jobs, false) w;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.dependency_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ours boolean;
  whose text;
begin
  -- Jobs that the caller may not see are not there, for all that he learns.
  select j.submitted_by into whose from bellhop.jobqueue j where j.id = new.job;
  if not found or not bellhop.may_change(whose) and not bellhop.is_reader() then
    raise foreign_key_violation using message = format('there is no job %s that could need job %s', new.job, new.needs),
      constraint = 'dependency_job_exists', table = 'dependency', hint = 'Insert the job first, in the same transaction.';
  elsif not bellhop.may_change(whose) then
    raise insufficient_privilege using message = format('permission denied: %s may not let job %s, which others have submitted, wait for another', bellhop.caller(), new.job),
      hint = format('That is for its submitter and for operators: grant bellhop_operator to %I.', bellhop.caller());
  elsif new.job = new.needs then
    raise check_violation using message = format('a job cannot wait for itself: job %s needs job %s', new.job, new.needs),
      constraint = 'dependency_no_cycle', table = 'dependency', hint = 'Leave this dependency out.';
  end if;
  select j.xmin = pg_current_xact_id()::xid and j.created_at >= now()
         and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'), j.submitted_by
    into ours, whose from bellhop.jobqueue j where j.id = new.needs;
  if not found or not (bellhop.may_change(whose) or bellhop.is_reader()) then
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
 LANGUAGE sql
BEGIN ATOMIC
 SELECT bellhop.detach_under(current_setting('search_path'::text), bellhop.attachment_named(name)) AS detach_under;
END;

CREATE OR REPLACE FUNCTION bellhop.detach_under(their_path text, id bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.dispatch_value(type oid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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

CREATE OR REPLACE FUNCTION bellhop.edit(id bigint, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, args text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, hold boolean DEFAULT NULL::boolean)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  was    record;
  now_is text;
  at     timestamptz := nullif(edit.run_at, '-infinity');
begin
  if not bellhop.refuse_others(edit.id, 'change') then
    return null;
  end if;
  if edit.priority not between -20 and 19 then
    raise check_violation using constraint = 'jobqueue_priority_range', message = format('priority %s is out of range', edit.priority), hint = 'Priorities are -20 (first) to 19 (last).';
  end if;
  -- The lock settles the race with a claim.
  select j.state, j.type into was from bellhop.jobqueue j where j.id = edit.id for update;
  if was.state is null or was.state not in ('held', 'blocked', 'scheduled', 'ready') then
    return was.state;
  end if;
  if edit.args is not null and was.type in ('command', 'attachment') then
    raise object_not_in_prerequisite_state using message = format('the args of job %s are not to be changed: it is of type %s', edit.id, was.type),
      hint = 'Cancel it, and submit another one.';
  end if;
  update bellhop.jobqueue j
     set priority      = coalesce(bellhop.priority_of(edit.priority_name), edit.priority::smallint, j.priority),
         priority_name = case when edit.priority_name is not null then edit.priority_name when edit.priority is null then j.priority_name end,
         args          = coalesce(edit.args, j.args),
         timeout       = coalesce(edit.timeout, j.timeout),
         max_attempts  = coalesce(edit.max_attempts, j.max_attempts),
         own_attempts  = case when edit.max_attempts is not null then true else j.own_attempts end,
         run_at        = case when edit.run_at is null then j.run_at when at > clock_timestamp() then at end,
         held          = j.held or coalesce(edit.hold, false),
         state         = case when edit.hold or j.held then 'held' when edit.run_at is null or j.unmet is not null then j.state
                              when at > clock_timestamp() then 'scheduled' else 'ready' end,
         waiting_for   = case when edit.hold then null
                              when j.waiting_for in ('retry_delay', 'snoozed') and edit.run_at is not null then null else j.waiting_for end
   where j.id = edit.id;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if edit.hold is false then
    return bellhop.release(edit.id);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = edit.id;
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ended(ids bigint[], told boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
  if ready > 0 and exists (select from bellhop.jobqueue j where j.type = 'dummy' and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null) then
    ready := ready + bellhop.pass_dummies(told);
  end if;
  return ready;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.expire(most integer, OUT expired integer, OUT next_ms bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  due   bigint[];
  taken bigint[];
  over  bigint[];
begin
  expired := 0;
  due := array(select d.job from bellhop.deadline d where d.at <= clock_timestamp() order by d.at limit most for update skip locked);
  if due <> '{}' then
    taken := array(select j.id from bellhop.jobqueue j where j.id = any (due) order by j.id for no key update skip locked);
    with ended as (
      update bellhop.jobqueue j
         set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, unmet = null,
             error = format('expired: it had not begun by %s', to_char(j.not_after at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
       where j.id = any (taken) and j.state in ('held', 'blocked', 'scheduled', 'ready') and j.not_after <= clock_timestamp()
      returning j.id
    )
    select coalesce(array_agg(e.id), '{}') into over from ended e;
    expired := cardinality(over);
    update bellhop.deadline d
       set at = greatest(clock_timestamp() + case when j.id = any (taken) then interval '5 s' else interval '100 ms' end, j.not_after)
      from bellhop.jobqueue j
     where d.job = any (due) and j.id = d.job and j.not_after is not null
       and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
    delete from bellhop.deadline d
     where d.job = any (due)
       and not exists (select from bellhop.jobqueue j where j.id = d.job and j.not_after is not null
                          and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'));
    if over <> '{}' then
      perform bellhop.ended(over);
    end if;
  end if;
  select least(86400000, greatest(0, extract(epoch from d.at - clock_timestamp()) * 1000))::bigint into next_ms
    from bellhop.deadline d where d.at < 'infinity' order by d.at limit 1;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.explain(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select format('job %s (%s) is %s', j.id, j.type, j.state)
      || coalesce((select string_agg(format(e'\n  %s: %s\n    -> %s', e.code, e.sentence, e.next), '' order by n)
                     from bellhop.explanation(j.id) with ordinality e (code, sentence, next, n)), '')
    from bellhop.job j
   where j.id = explain.id
$function$;

CREATE OR REPLACE FUNCTION bellhop.explain_row(name text, key text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT e.code,
     e.sentence,
     e.next
    FROM bellhop.explain_row_of(bellhop.attachment_named(explain_row.name), explain_row.key) e(code, sentence, next);
END;

CREATE OR REPLACE FUNCTION bellhop.explain_row_of(attachment bigint, key text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  a      bellhop.attachment;
  mine   bellhop.attached;
  aside  bellhop.set_aside;
  hash   bytea := sha256(convert_to(explain_row_of.key, 'UTF8'));
  state  text; -- of the row's job
  over   boolean;
  n      bigint; -- how many rows run
  cause  text;
  args   jsonb;
begin
  select x.id, x.name, x.rel, x.pool, x.state, x.trouble into a.id, a.name, a.rel, a.pool, a.state, a.trouble
    from bellhop.attachment x where x.id = explain_row_of.attachment;
  select x.job, x.live into mine.job, mine.live from bellhop.attached x where x.attachment = a.id and x.digest = hash;
  select j.state into state from bellhop.job j where j.id = mine.job;
  over := state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into aside from bellhop.set_aside x where x.attachment = a.id and x.digest = hash;
  select count(*) into n from bellhop.attached x join bellhop.job j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  -- Not only what its last turn came to: there may have been none since.
  a.trouble := coalesce(bellhop.turn_trouble(a.id), case when a.state = 'broken' then a.trouble end);
  args := jsonb_build_object('name', a.name, 'job', mine.job, 'state', state, 'pool', a.pool, 'more', a.pool + 1, 'key', explain_row_of.key,
    'why', coalesce(aside.reason, a.trouble), 'times', aside.times, 'at', to_char(aside.again_at, 'YYYY-MM-DD HH24:MI:SSOF'),
    'table', case when a.rel::text ~ '^[a-z0-9_.]+$' then a.rel::text else quote_literal(a.rel::text) end); -- for a shell

  cause := case
    when a.trouble is not null then 'attachment_broken'
    when not exists (select from bellhop.instance i where i.state = 'live') then 'no_instance'
    when mine.live and not over then 'row_has_job'
    when mine.live and over and aside.outcome then 'outcome_pending/refused'
    when mine.live and over then 'outcome_pending'
    when aside.reason is not null and not aside.outcome then 'row_set_aside'
    when a.pool = 0 then 'pool_paused'
    when n >= a.pool then 'pool_full'
    when state is not null then 'row_ran'
    when exists (select from pg_inherits i join pg_class c on c.oid = i.inhparent and c.relkind = 'r' where i.inhparent = a.rel::oid)
      then 'not_taken/inherited'
    else 'not_taken' end;
  if cause = 'attachment_broken' then
    args := args || jsonb_build_object('why', a.trouble);
  elsif cause = 'not_taken/inherited' then
    args := args || jsonb_build_object('children', (select string_agg(i.inhrelid::regclass::text, ', ') from pg_inherits i where i.inhparent = a.rel::oid));
  end if;
  return query select * from bellhop.reason(cause, args);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.explanation(id bigint)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  j     bellhop.jobqueue;
  r     record;
  h     record;
  made  xid; -- the transaction that made the row as it is
  hand  xid; -- and one that may have locked it since
  is_at text; -- its state, also where triggers were disabled and its column does not say so
  seen  boolean;
  n     bigint;
  found_one boolean := false;
  error text;
  what  text;
begin
  select q.xmin, q.xmax into made, hand from bellhop.jobqueue q where q.id = explanation.id;
  select null::text as cause, null::jsonb as args into h;
  select * into j from bellhop.jobqueue q where q.id = explanation.id;
  if not found or not (bellhop.is_reader() or bellhop.owns(j.submitted_by)) then
    return;
  end if;
  if j.max_attempts = 1 and j.own_attempts is not true then
    j.max_attempts := coalesce((select max(a.attempts) from bellhop.agent a join bellhop.instance i on i.id = a.instance and i.state = 'live' where a.type = j.type), 1);
  end if;
  is_at := case when j.state not in ('held', 'blocked', 'scheduled', 'ready') then j.state
                when j.held or j.state = 'held' then 'held'
                when j.state = 'blocked' or j.unmet is not null or exists (select from bellhop.dependency d where d.job = j.id and not d.counted) then 'blocked'
                when j.state = 'scheduled' or j.run_at > clock_timestamp() then 'scheduled'
                else 'ready' end;
  if not (bellhop.is_operator() or bellhop.owns(j.submitted_by)) then
    j.error := bellhop.reason_of(j.error, j.reason);
  end if;

  if is_at = 'held' then
    return query select * from bellhop.reason('held', jsonb_build_object('id', j.id));
  end if;

  if is_at = 'blocked' then
    for r in select d.needs, d.wanted, q.state, q.type from bellhop.dependency d left join bellhop.jobqueue q on q.id = d.needs
              where d.job = j.id and not d.met order by d.needs limit 10
    loop
      found_one := true;
      return query select * from bellhop.reason(
        case when r.state is null then 'blocked/deleted'
             when r.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and r.state <> all (r.wanted) then 'blocked/ended'
             else 'blocked' end,
        jsonb_build_object('id', j.id, 'needs', r.needs, 'type', r.type, 'wanted', array_to_string(r.wanted, ' or '), 'state', r.state));
    end loop;
    if not found_one then
      return query select * from bellhop.reason('blocked/unseen', jsonb_build_object('id', j.id));
    end if;
  end if;

  if is_at = 'scheduled' then
    return query select * from bellhop.reason(case when j.waiting_for = 'retry_delay' then 'retry_delay'
        when j.waiting_for = 'snoozed' then 'snoozed'
        when j.waiting_for like 'no_resources: %' then 'no_resources' else 'scheduled' end,
      jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2), 'attempt', j.attempt, 'most', j.max_attempts, 'at', j.run_at, 'error', coalesce(j.error, 'no reason was given'), 'in',
        case when isfinite(j.run_at) then format(', in %s', date_trunc('second', greatest(j.run_at - clock_timestamp(), interval '0'))) else ', which is never' end));
  end if;

  if is_at in ('held', 'blocked', 'scheduled', 'ready') and hand <> '0' then
    -- Who has it in hand is told by the lock on a transaction, which each holds on its own.
    for r in select l.pid, a.usename, a.application_name, a.xact_start, a.state,
                    (select x.gid from pg_prepared_xacts x where x.transaction = hand) as gid
               from pg_locks l left join pg_stat_activity a on a.pid = l.pid
              where l.locktype = 'transactionid' and l.transactionid = hand and l.granted and l.pid is distinct from pg_backend_pid()
    loop
      return query select * from bellhop.reason(case when r.pid is null then 'in_hand/prepared' else 'in_hand' end,
        jsonb_build_object('pid', r.pid, 'gid', r.gid, 'since', bellhop.since(r.xact_start), 'who',
          format('process %s of the server%s%s%s', r.pid, coalesce(', user ' || r.usename, ''), coalesce(', application ' || nullif(r.application_name, ''), ''), coalesce(', ' || r.state, ''))));
      found_one := true;
    end loop;
  end if;

  if is_at = 'ready' and j.locks is not null then
    for r in select distinct on (g.job) g.job, g.since, w.want, q.type,
                    case g.level when 'big' then 'big' else format('%s:%s=%s', g.level, g.name, g.mode) end as held
               from unnest(j.locks) as w (want)
               join bellhop.lock g on g.job <> j.id and bellhop.locks_clash(w.want, g.level, g.name, g.mode)
               join bellhop.jobqueue q on q.id = g.job
              order by g.job, w.want limit 10
    loop
      found_one := true;
      return query select * from bellhop.reason('lock_held', jsonb_build_object('id', j.id, 'lock', r.want, 'job', r.job,
        'type', r.type, 'held', r.held, 'since', bellhop.since(r.since)));
    end loop;
    select f.id, f.action, ' It says: ' || nullif(f.reason, '') as why into r from bellhop.applying_filter(j) f;
    if r.action = 'PAUSE' or r.action like 'RATE_LIMIT %' and j.waiting_for ~ '^rate_limited: as many (run|have started) as filter ' then
      found_one := true;
      return query select * from bellhop.reason(case r.action when 'PAUSE' then 'filter_paused' else 'rate_limited/filter' end,
        jsonb_build_object('rule', r.id, 'action', r.action, 'why', r.why,
                           'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    end if;
    if not found_one and j.waiting_for ~ '^(lock_reserved|rate_limited|locks_malformed): ' then
      found_one := true;
      return query select * from bellhop.reason(split_part(j.waiting_for, ':', 1),
        jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    end if;
  end if;

  if is_at = 'ready' then
    h := bellhop.hindrance(j.type, j.run_on, j.priority, j.priority_name, j.msq is not null);
    if h.cause is null and j.waiting_for ~ '^(agent_fails|host_down): ' then -- newer, where a host has just given it back
      h.cause := substring(j.waiting_for from '^[a-z_]+');
      h.args := jsonb_build_object('hosts', substr(j.waiting_for, length(h.cause) + 3));
    end if;
    if h.cause is not null then
      found_one := true;
      return query select * from bellhop.reason(h.cause, h.args || jsonb_build_object('id', j.id));
    end if;
    if h.cause is null or split_part(h.cause, '/', 1) in ('no_room', 'queries_full', 'exclusive', 'child_starting') then
      select count(*) into n from (
        (select from bellhop.jobqueue q
          where j.run_on is null and q.type = j.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null and (q.priority, q.id) < (j.priority, j.id)
          limit 10000)
        union all
        (select from bellhop.jobqueue q
          where j.run_on is not null and q.type = j.type and q.state = 'ready' and not q.held and q.run_on = j.run_on and q.locks is null and (q.priority, q.id) < (j.priority, j.id)
          limit 10000)) x;
      if n > 0 then
        found_one := true;
        return query select * from bellhop.reason('queued', jsonb_build_object('type', j.type,
          'jobs', case when n = 10000 then 'At least 10000 jobs' when n = 1 then '1 job' else n || ' jobs' end, 'come', case when n = 1 then 'comes' else 'come' end));
      end if;
    end if;
    if not found_one then
      -- A job of another type for which there is no room keeps what is less urgent from starting before it.
      for r in
        select x.id, x.type, x.priority
          from (select distinct a.type from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type <> j.type) t
         cross join lateral (
           select q.id, q.type, q.priority from bellhop.jobqueue q
            where q.type = t.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null and q.priority < j.priority
            order by q.priority, q.id limit 1) x
         where (select o.cause from bellhop.hindrance(x.type, null, x.priority) o) = 'no_room'
         order by x.priority, x.id limit 1
      loop
        found_one := true;
        return query select * from bellhop.reason('queued/others', jsonb_build_object('job', r.id, 'other', r.type, 'priority', r.priority));
      end loop;
    end if;
    if not found_one and j.waiting_for is not null and not exists (select from bellhop.causes() c where c.code = substring(j.waiting_for from '^[a-z_]+')) then
      found_one := true;
      return query select * from bellhop.reason('waits', jsonb_build_object('id', j.id, 'what', j.waiting_for));
    end if;
    if not found_one then
      -- Whether an instance has looked since the row is as it is: every transaction below `looked` was over when that look began.
      select bool_or(((i.looked::text::numeric % 4294967296)::bigint - made::text::bigint + 4294967296) % 4294967296 between 1 and 2147483647) into seen
        from bellhop.instance i where i.state = 'live';
      return query select * from bellhop.reason(case when seen then 'unexplained' else 'not_looked_at' end, coalesce(h.args, '{}') || jsonb_build_object('id', j.id,
        'looked', (select format(', which was at %s', date_trunc('milliseconds', max(i.looked_at))) from bellhop.instance i where i.state = 'live' having max(i.looked_at) is not null)));
    end if;

  elsif is_at in ('assigned', 'running') then
    if is_at = 'assigned' and j.waiting_for like 'lock_held: %' then
      return query select * from bellhop.reason('lock_held/asked', jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    elsif is_at = 'assigned' then
      select c.name, c.state, c.since, a.mode, a.deaths -> j.host as death into r
        from bellhop.agent a
        left join bellhop.child c on c.instance = a.instance and c.host = j.host and c.type = a.type and c.state in ('PREP', 'SPAWNED')
       where a.instance = j.instance and a.type = j.type
       order by c.since limit 1;
      return query select * from bellhop.reason(
        case when r.state = 'SPAWNED' and r.mode = 'warm' then 'child_starting/silent' else 'child_starting' end,
        jsonb_build_object('id', j.id, 'instance', j.instance, 'host', j.host,
          'since', (select bellhop.since(x.at) from (select r.since as at) x),
          'child', case when r.state = 'SPAWNED' and r.mode = 'warm' then r.name else coalesce(', ' || r.name || ' (' || r.state || ')', '') end));
      if r.death is not null then
        return query select * from bellhop.reason('last_death', jsonb_build_object('n', r.death ->> 'deaths', 'host', j.host,
          'at', date_trunc('second', (r.death ->> 'at')::timestamptz), 'why', r.death ->> 'why'));
      end if;
    else
      return query select * from bellhop.reason('running', jsonb_build_object('id', j.id,
        'at', date_trunc('second', coalesce(j.attempt_at, j.started_at)), 'for', date_trunc('second', clock_timestamp() - coalesce(j.attempt_at, j.started_at)),
        'host', j.host, 'instance', j.instance, 'attempt', j.attempt, 'most', j.max_attempts,
        'child', (select format(' by %s, pid %s', c.name, c.pid) from bellhop.child c where c.instance = j.instance and c.job = j.id and j.msq is null limit 1),
        'items', case when j.msq is not null then format('; items done %s, failed %s, of %s',
                   coalesce(j.items_done, 0), coalesce(j.items_failed, 0), coalesce(j.items_total::text, 'not known yet')) end));
      if j.msq is not null and j.waiting_for like 'lock_held: %' then
        return query select * from bellhop.reason('lock_held/items', jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, 12)));
      end if;
      if j.waiting_for like 'items_wait: %' then
        for r in select x.key as place, x.value as what from jsonb_each(substr(j.waiting_for, 13)::jsonb) x order by x.key
        loop
          h := bellhop.hindrance(j.type, nullif(r.place, ''), j.priority, j.priority_name);
          return query
            select i.code, i.sentence, i.next
              from (select (bellhop.reason(h.cause, h.args || jsonb_build_object('id', j.id))).* where h.cause is not null) w (code, sentence, next)
             right join (select) one on true
             cross join lateral bellhop.reason(case when h.cause is null then 'items_wait/starting' else 'items_wait' end,
               jsonb_build_object('id', j.id, 'n', r.what ->> 'n', 'since', bellhop.since((r.what ->> 'since')::timestamptz),
                 'place', ' for ' || nullif(r.place, ''), 'why', w.code || ': ' || w.sentence, 'next', w.next)) i;
        end loop;
      end if;
    end if;
    if j.msq is not null and exists (select from bellhop.paused p where p.type in ('', j.type)) and j.waiting_for is null then
      h := bellhop.hindrance(j.type);
      return query select * from bellhop.reason(h.cause, h.args || jsonb_build_object('id', j.id));
    end if;
    if j.cancel_requested then
      return query select * from bellhop.reason(case when j.killed_by is not null then 'cancel_requested/killed' else 'cancel_requested' end,
        jsonb_build_object('id', j.id, 'by', j.killed_by));
    end if;

  elsif is_at not in ('held', 'blocked', 'scheduled') then
    -- What stands in error begins with a code, where there is one; else it is what the agent, or its end, said.
    error := coalesce(j.error, 'no reason was given');
    what := substring(error from '^([a-z]+(?:_[a-z]+)*): ');
    if not exists (select from bellhop.causes() c where c.cause = what and c.of = 'ended' and what <> 'killed') then
      what := substring(error from '^(args_too_long)$');
    else
      error := substr(error, length(what) + 3);
    end if;
    what := case when j.state = 'cancelled' and what in ('filter_rejected', 'expired') then what
                 when j.state in ('succeeded', 'cancelled', 'quarantined') then j.state
                 when j.killed_by is not null and j.error like 'killed: %' then 'killed'
                 when j.type = 'command' then 'command_failed'
                 when j.error like 'these jobs wait for each other for ever%' then 'needs_cycle'
                 when (j.ended_by is not null or j.attempt = 0) and j.error like 'it needs %'
                   then case when exists (select from bellhop.jobqueue q where q.id = j.ended_by) then 'needs_failed' else 'needs_failed/deleted' end
                 when what is not null then what
                 when j.attempt = 0 then 'never_ran'
                 when j.deaths > 0 then 'agent_died'
                 else 'agent_failed' end;
    return query select * from bellhop.reason(what, jsonb_build_object('id', j.id, 'error', error, 'by', j.killed_by, 'deaths', j.deaths,
      'exit_code', coalesce(j.exit_code::text, 'none'), 'root', j.ended_by, 'rule', substring(error from '^filter ([A-Za-z0-9._-]+)'), 'failed', j.items_failed, 'done', j.items_done,
      'items', case when j.items_total is not null then format(' Items: %s.', j.items_total) end,
      'first', case when what in ('items_failed', 'too_many_failures') and bellhop.is_operator() then
        (select format(' The first: item %s: %s', i.item, i.error) from bellhop.item i where i.job = j.id order by i.fence desc, i.item limit 1) end));
    if j.attempt > 0 and j.started_at is not null then
      return query select * from bellhop.reason('ran_on', jsonb_build_object('id', j.id, 'attempt', j.attempt, 'most', j.max_attempts, 'host', coalesce(j.host, 'no host'),
        'child', ' by ' || j.child, 'from', date_trunc('milliseconds', coalesce(j.attempt_at, j.started_at)), 'to', date_trunc('milliseconds', j.ended_at),
        'for', date_trunc('milliseconds', j.ended_at - coalesce(j.attempt_at, j.started_at))));
    end if;
    if j.state <> 'succeeded' and bellhop.is_operator() then
      select string_agg(x.line, e'\n    ' order by x.id) into what from (
        select l.id, l.line from bellhop.log l
         where l.job = j.id and l.level in ('err', 'error', 'note') and l.attempt is not distinct from nullif(j.attempt, 0)
         order by l.id desc limit 5) x;
      if what is not null then
        return query select * from bellhop.reason('last_words', jsonb_build_object('id', j.id, 'words', what));
      end if;
    end if;
  end if;

  for r in select l.* from bellhop.lost_run l where l.job = j.id order by l.n desc limit 1
  loop
    return query select * from bellhop.reason('lost', jsonb_build_object('id', j.id, 'reason', r.reason, 'host', coalesce(r.host, 'no host'), 'child', ' by ' || r.child,
      'from', date_trunc('milliseconds', r.started_at), 'to', date_trunc('milliseconds', r.lost_at), 'for', date_trunc('milliseconds', r.lost_at - r.started_at),
      'more', case when j.lost > 1 then format(' %s runs of it were lost so far.', j.lost) end));
  end loop;

  -- An instance that nobody has heard of for a while may hold it, or be the only one that could take it.
  for r in
    select i.id, i.name, clock_timestamp() - i.heartbeat_at as silent, i.lag, i.stop, i.heartbeat_at < clock_timestamp() - i.lag / 2 as late
      from bellhop.instance i
     where i.state = 'live' and (j.instance = i.id and is_at in ('assigned', 'running') or is_at = 'ready')
       and (i.stop is not null or i.heartbeat_at < clock_timestamp() - i.lag / 2)
  loop
    if r.late and h.cause is distinct from 'instance_silent' then
      return query select * from bellhop.reason('instance_silent/one', jsonb_build_object('instance', r.id, 'name', r.name, 'for', date_trunc('second', r.silent), 'lag', r.lag));
    end if;
    if r.stop is not null and h.cause is distinct from 'instance_stopping' then
      return query select * from bellhop.reason('instance_stopping/one', jsonb_build_object('instance', r.id, 'name', r.name, 'how', r.stop));
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.fill(template text, args jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select string_agg(m[1] || coalesce(args ->> m[2], ''), '' order by n)
    from regexp_matches(template, '([^{]*)(?:\{([a-z_]+)\})?', 'g') with ordinality x (m, n)
$function$;

CREATE OR REPLACE FUNCTION bellhop.filled(template text, given jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when strpos(template, '${') = 0 then template else (
    select string_agg(case when m.part[1] = '$${' then '${' when m.part[2] is not null then coalesce(given ->> m.part[2], m.part[1]) else m.part[1] end,
                      '' order by m.n)
      from regexp_matches(template, '(\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$|[^$]+)', 'g') with ordinality as m (part, n)) end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_add(action text, predicates jsonb DEFAULT '[]'::jsonb, priority integer DEFAULT 0, reason text DEFAULT ''::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform bellhop.filter_may(), bellhop.filter_check(filter_add.action, filter_add.predicates);
  return bellhop.filter_write(null, filter_add.action, filter_add.predicates, filter_add.priority, filter_add.reason);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_answer(expr jsonb, has jsonb, mark bigint DEFAULT NULL::bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  op   text := expr ->> 0;
  all_ boolean;
  got  jsonb;
  want jsonb := expr -> 2;
  kind text;
begin
  if jsonb_typeof(expr) = 'null' then -- of nothing: every thing
    return true;
  elsif op in ('&', '|') then
    all_ := op = '&';
    for i in 1 .. jsonb_array_length(expr) - 1 loop
      if op = '&' then
        all_ := all_ and bellhop.filter_answer(expr -> i, has, mark);
      else
        all_ := all_ or bellhop.filter_answer(expr -> i, has, mark);
      end if;
      exit when all_ = (op = '|');
    end loop;
    return all_;
  elsif op = '!' then
    return not bellhop.filter_answer(expr -> 1, has, mark);
  end if;
  got := bellhop.filter_field(expr ->> 1, has);
  kind := jsonb_typeof(got);
  if got is null then
    return null;
  elsif op = '?' then
    return case kind when 'string' then got <> '""' when 'number' then (got #>> '{}')::numeric <> 0 when 'boolean' then got = 'true'
                     when 'array' then jsonb_array_length(got) > 0 else kind = 'object' end;
  elsif op = '=~' then
    return case when kind = 'string' then (got #>> '{}') collate "C" ~ (want #>> '{}') end;
  end if;
  if mark is not null and want = '"watermark"' then
    want := to_jsonb(mark);
  end if;
  if op = '=[]' then
    return case when kind = 'array' then exists (select from jsonb_array_elements(got) x (v) where bellhop.filter_compare('=', x.v, want)) end;
  end if;
  return bellhop.filter_compare(op, got, want);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  f bellhop.filter;
begin
  new.priority := coalesce(bellhop.priority_of(new.priority_name), new.priority); -- _100_arrange writes it
  f := bellhop.applying_filter(new);
  if f.action = 'REJECT' then
    raise check_violation using constraint = 'jobqueue_filter_rejected', table = 'jobqueue', schema = 'bellhop',
      message = format('filter %s rejects this job%s', f.id, coalesce(': ' || nullif(f.reason, ''), '')),
      hint = 'bellhop filter info ' || f.id;
  elsif f.action = 'PAUSE' or f.action like 'RATE_LIMIT %' then
    update bellhop.jobqueue j set locks = '{}' where j.id = new.id and j.locks is null; -- which rings
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_check(action text, predicates jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  p    jsonb;
  flaw text;
begin
  if filter_check.action is null
     or filter_check.action !~ '^(ACCEPT|CONTINUE|PAUSE|REJECT|RATE_LIMIT [1-9][0-9]{0,8}( per ([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)?)$' then
    raise check_violation using constraint = 'filter_action',
      message = coalesce(format('there is no action %L for a filter', filter_check.action), 'a filter needs an action'),
      hint = 'Write ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT 2, or RATE_LIMIT 10 per 1m.';
  end if;
  for p in select e.p from jsonb_array_elements(coalesce(filter_check.predicates, '[]')) e (p) loop
    flaw := case when jsonb_typeof(p) <> 'array' or p ->> 0 is null or p ->> 0 not in ('jobid', 'opcode', 'reason') or jsonb_array_length(p) <> 2
                   then format('%s is no predicate', p)
                 else bellhop.filter_flaw(p -> 1) end;
    if flaw is not null then
      raise check_violation using constraint = 'filter_predicates', message = format('predicate %s: %s', p, flaw),
        hint = 'Write ["jobid",E], ["opcode",E] or ["reason",E]; docs/locks.md has the expressions.';
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_compare(op text, got jsonb, want jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when jsonb_typeof(got) <> jsonb_typeof(want) then null
    when jsonb_typeof(got) = 'boolean' then case when op = '=' then got = want end
    when jsonb_typeof(got) not in ('string', 'number') then null
    else case op when '=' then c.c = 0 when '<' then c.c < 0 when '<=' then c.c <= 0 when '>' then c.c > 0 when '>=' then c.c >= 0 end
  end
  from (select case jsonb_typeof(got)
                 when 'string' then case when (got #>> '{}') collate "C" = (want #>> '{}') then 0 when (got #>> '{}') collate "C" < (want #>> '{}') then -1 else 1 end
                 when 'number' then case when jsonb_typeof(want) = 'number' then sign((got #>> '{}')::numeric - (want #>> '{}')::numeric) end
               end) c (c)
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_delete(id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform bellhop.filter_may();
  return filter_delete.id is not null and bellhop.filter_write(filter_delete.id, null, null, null, null) is not null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_field(field text, has jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  v    jsonb;
  step text;
begin
  if has ? field and field <> ':vars' then
    return has -> field;
  elsif not has ? ':vars' then
    return null;
  elsif starts_with(field, 'vars.') then
    return coalesce(has -> ':vars' -> substr(field, 6), 'null');
  elsif not starts_with(field, 'args.') then
    return null;
  end if;
  begin
    v := (has ->> 'args')::jsonb;
  exception when others then -- they are no JSON
    return 'null';
  end;
  foreach step in array coalesce(nullif(string_to_array(substr(field, 6), '.'), '{}'), '{""}') loop
    if jsonb_typeof(v) is distinct from 'object' then
      return 'null';
    end if;
    v := v -> step;
  end loop;
  return coalesce(v, 'null');
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_flaw(expr jsonb, depth integer DEFAULT 1)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  op    text := expr ->> 0;
  takes integer := case expr ->> 0 when '?' then 2 else 3 end;
  flaw  text;
begin
  if jsonb_typeof(expr) = 'null' then
    return null;
  elsif expr is null or jsonb_typeof(expr) <> 'array' or jsonb_typeof(expr -> 0) is distinct from 'string' then
    return format('%s is no expression', coalesce(expr::text, 'nothing'));
  elsif depth > 64 then
    return 'it is nested more than 64 deep';
  elsif op in ('&', '|', '!') then
    if op = '!' and jsonb_array_length(expr) <> 2 then
      return format('%s: ! takes one expression', expr);
    end if;
    for i in 1 .. jsonb_array_length(expr) - 1 loop
      flaw := bellhop.filter_flaw(expr -> i, depth + 1);
      exit when flaw is not null;
    end loop;
    return flaw;
  elsif op not in ('?', '=', '<', '<=', '>', '>=', '=~', '=[]') then
    return format('%s: there is no operator %s', expr, op);
  elsif jsonb_typeof(expr -> 1) is distinct from 'string' or jsonb_array_length(expr) <> takes
     or jsonb_typeof(expr -> 2) in ('null', 'array', 'object') or op = '=~' and jsonb_typeof(expr -> 2) <> 'string' then
    return format('%s: %s takes a field%s', expr, op, case op when '?' then '' when '=~' then ' and a regular expression' else ' and a value' end);
  elsif op = '=~' then
    perform '' ~ (expr ->> 2); -- PostgreSQL says what is wrong with it
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_look(after xid DEFAULT NULL::xid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  r record;
begin
  for r in
    select j.id, j.state, j.fence, j.instance, j.locks is null as plain, f.id as rule, f.action
      from bellhop.jobqueue j
     cross join lateral bellhop.applying_filter(j) f
     where j.state in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running')
       and (after is null or j.state in ('assigned', 'running') or age(j.xmin) <= age(after) and j.locks is null)
       and f.action <> 'ACCEPT'
  loop
    if r.action = 'REJECT' then
      perform bellhop.filter_reject(r.id, r.rule);
      continue;
    elsif r.plain then
      update bellhop.jobqueue j set locks = '{}' where j.id = r.id and j.locks is null;
    end if;
    if r.state in ('assigned', 'running') and r.action ~ '^RATE_LIMIT [0-9]+$' then
      insert into bellhop.lock_grant (level, name, job, fence, mode, instance) values ('filter', r.rule, r.id, r.fence, 'slot', r.instance)
      on conflict (level, name, job) do update set fence = excluded.fence, mode = excluded.mode, instance = excluded.instance, until = null;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_matches(f bellhop.filter, j bellhop.jobqueue)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  p     jsonb;
  has   jsonb;
  holds boolean;
begin
  for p in select e.p from jsonb_array_elements(f.predicates) e (p) loop
    holds := case p ->> 0
         when 'jobid' then bellhop.filter_answer(p -> 1, jsonb_build_object('id', j.id), f.watermark)
         when 'reason' then exists (select from unnest(j.reasons) r (reason)
                where bellhop.filter_answer(p -> 1, jsonb_build_object('reason', r.reason, 'source', coalesce(j.submitted_by, ''),
                                                                        'timestamp', extract(epoch from j.created_at))))
       end;
    if holds then
      continue;
    elsif p ->> 0 is distinct from 'opcode' then
      return false;
    end if;
    has := coalesce(has, jsonb_build_object('type', j.type, 'OP_ID', j.type, 'args', coalesce(j.args, ''), 'key', coalesce(j.key, ''),
      'run_on', coalesce(j.run_on, ''), 'submitted_by', coalesce(j.submitted_by, ''), 'priority', j.priority,
      'locks', to_jsonb(coalesce(j.locks, '{}')), 'reasons', to_jsonb(coalesce(j.reasons, '{}')), ':vars', coalesce(j.vars, '{}')));
    if bellhop.filter_answer(p -> 1, has) is not true then
      return false;
    end if;
  end loop;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_may()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not bellhop.is_operator() then
    raise insufficient_privilege using
      message = format('permission denied: %s may not change filters', bellhop.caller()),
      hint = format('Filters are for operators: grant bellhop_operator to %I.', bellhop.caller());
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_reject(job bigint, rule text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update bellhop.jobqueue j
     set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null,
         error = format('filter_rejected: filter %s%s', rule, (select ': ' || nullif(f.reason, '') from bellhop.filter f where f.id = rule))
   where j.id = filter_reject.job and j.state in ('held', 'blocked', 'scheduled', 'ready');
  if not found then
    return false;
  end if;
  perform bellhop.ended(array[filter_reject.job]);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_replace(id text, action text, predicates jsonb DEFAULT '[]'::jsonb, priority integer DEFAULT 0, reason text DEFAULT ''::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if filter_replace.id is null then
    raise null_value_not_allowed using message = 'which filter? Its id is null';
  end if;
  perform bellhop.filter_may(), bellhop.filter_check(filter_replace.action, filter_replace.predicates);
  return bellhop.filter_write(filter_replace.id, filter_replace.action, filter_replace.predicates, filter_replace.priority, filter_replace.reason);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_trigger()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  there boolean := exists (select from pg_trigger t where t.tgrelid = 'bellhop.jobqueue'::regclass and t.tgname = '_030_filter');
begin
  if exists (select from bellhop.filter) then
    if not there then
      execute 'create trigger _030_filter after insert on bellhop.jobqueue
                 for each row when (new.type not in (''command'', ''dummy'')) execute function bellhop.filter_came()';
    end if;
  elsif there then
    begin
      execute 'drop trigger _030_filter on bellhop.jobqueue';
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.filter_write(id text, action text, predicates jsonb, priority integer, reason text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '2s'
AS $function$
#variable_conflict use_column
declare
  given text := coalesce(filter_write.id, gen_random_uuid()::text);
  seen  xid;
  obey  boolean; -- any job may have to
begin
  for try in 1 .. 5 loop
    begin
      if filter_write.action is null then
        delete from bellhop.filter f where f.id = given;
        if not found then
          return null;
        end if;
      else
        insert into bellhop.filter as f (id, priority, watermark, predicates, action, reason, created_by)
        values (given, coalesce(filter_write.priority, 0), coalesce((select max(j.id) from bellhop.jobqueue j), 0), coalesce(filter_write.predicates, '[]'),
                filter_write.action, coalesce(filter_write.reason, ''), bellhop.caller())
        on conflict (id) do update
           set priority = excluded.priority, watermark = excluded.watermark, predicates = excluded.predicates, action = excluded.action,
               reason = excluded.reason, created_at = clock_timestamp(), created_by = excluded.created_by;
      end if;
      seen := pg_snapshot_xmin(pg_current_snapshot())::xid;
      obey := exists (select from bellhop.filter f where f.action in ('PAUSE', 'REJECT') or f.action like 'RATE_LIMIT %');
      if obey then
        perform bellhop.filter_look();
      end if;
      perform pg_advisory_xact_lock(7090192401229115394); -- "bellhop\2": a pass that has read the rules as they were ends first
      if obey then
        lock table bellhop.jobqueue in share row exclusive mode;
      end if;
      delete from bellhop.lock_grant g where g.level = 'filter' and g.until is null;
      if obey then
        perform bellhop.filter_look(seen);
      end if;
      perform bellhop.filter_trigger();
      update bellhop.jobqueue j set behind = null, waiting_for = null
       where j.state = 'ready' and not j.held and j.locks is not null
         and (starts_with(coalesce(j.behind, ''), 'filter:') or starts_with(coalesce(j.behind, ''), 'paused:'));
      perform pg_notify('bellhop', 'locks');
      return given;
    exception when lock_not_available or deadlock_detected then
      if try = 5 then
        raise lock_not_available using
          message = 'a transaction that is open has written to the queue: 5 times it was waited for, for 2 s each',
          hint = 'bellhop doctor shows transactions that are open for long. End it, and say this again.';
      end if;
    end;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.find_lost_turns(most integer DEFAULT 10000)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  found_now integer;
begin
  with l as (
    select split_part(w.behind, ':', 1) as level, substr(w.behind, strpos(w.behind, ':') + 1) as name from bellhop.waited_for(most) w
  ), ownerless as (
    select l.level, l.name from l
     where l.level <> 'paused' -- a filter's PAUSE: who changes that looks at them
       and (select count(*) from bellhop.lock_grant g
             where g.level = l.level and g.name = l.name and not (g.mode = 'turn' and bellhop.idle_turn(g.since)))
         < coalesce(bellhop.lock_places(l.level, l.name), 1)
  ), made as (
    -- A row of no job is not alive: the pass that follows hands the lock on.
    insert into bellhop.lock_grant (level, name, job, fence, mode)
    select o.level, o.name, 0, 0, 'turn' from ownerless o
    on conflict do nothing
    returning 1
  )
  select count(*) into found_now from made;
  return found_now;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.fire(called text, events text[], slots timestamp with time zone[], caught boolean[], next timestamp with time zone, safely boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  w     bellhop.workflow;
  f     record;
  fired integer := 0;
begin
  select * into w from bellhop.workflow x where x.name = called and x.active;
  update bellhop.sensor s
     set next_fire = next, fired_at = case when events <> '{}' then clock_timestamp() else s.fired_at end,
         problem = case when events = '{}' then s.problem end, since = case when events = '{}' then s.since end
   where s.workflow = called;
  for f in select e.event, e.slot, e.caught from unnest(events, slots, caught) with ordinality as e (event, slot, caught, n) order by e.n loop
    insert into bellhop.event (workflow, event, slot) values (called, f.event, f.slot) on conflict do nothing;
    if found then
      update bellhop.event e set run = bellhop.make_run_or_say(w, f.event, f.slot, '{}', not f.caught, safely)
       where e.workflow = called and e.event = f.event;
      fired := fired + 1;
    end if;
  end loop;
  return fired;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.first_behind(lock text, most integer, but_types text[])
 RETURNS TABLE(job bigint, fence bigint, locks text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  return query
  with recursive t as (
    (select j.type from bellhop.jobqueue j
      where coalesce(j.behind, '') = first_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
      order by j.type limit 1)
    union all
    select (select j.type from bellhop.jobqueue j
             where coalesce(j.behind, '') = first_behind.lock and j.state = 'ready' and not j.held and j.locks is not null and j.type > t.type
             order by j.type limit 1)
      from t where t.type is not null
  )
  select f.id, f.fence, f.locks
    from t
   cross join lateral (
     select j.id, j.fence, j.priority, j.locks from bellhop.jobqueue j
      where coalesce(j.behind, '') = first_behind.lock and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
      order by j.priority, j.id limit first_behind.most
        for update skip locked) f
   where t.type is not null and t.type <> all (first_behind.but_types)
   order by f.priority, f.id limit first_behind.most;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.forget_attachment(id bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  turn text;
begin
  delete from bellhop.attachment x where x.id = forget_attachment.id returning x.turn into turn;
  if turn is not null then
    execute format('drop function if exists bellhop_attached.%I(jsonb, int4, text[])', turn);
  end if;
  perform pg_notify('bellhop_due', '');
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.heads_behind(lock text)
 RETURNS TABLE(job bigint, since timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  return query
  with recursive t as (
    (select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
      where coalesce(j.behind, '') = heads_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
      order by j.type, j.priority, j.id limit 1)
    union all
    select n.id, n.type, n.priority, n.created_at
      from t
     cross join lateral (
       select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
        where coalesce(j.behind, '') = heads_behind.lock and j.state = 'ready' and not j.held and j.locks is not null
          and (j.type, j.priority) > (t.type, t.priority)
        order by j.type, j.priority, j.id limit 1) n
  )
  select t.id, t.created_at from t;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.hindrance(type text, run_on text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, msq boolean DEFAULT false, OUT cause text, OUT args jsonb, OUT detail text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  f     record;
  agent text := type; -- whose agent does it
  there text;
begin
  if not exists (select from bellhop.instance i where i.state = 'live') then
    cause := 'no_instance';
    args := jsonb_build_object('since', (select bellhop.since(max(i.gone_at)) from bellhop.instance i));
    return;
  end if;
  if hindrance.type = 'command' then -- any instance carries it out with its next look
    return;
  end if;
  -- RJM's workers take RJM's jobs of every type that has no agent of its own.
  if exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = 'rjm')
     and not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = hindrance.type)
     and exists (select from bellhop.jobqueue j join bellhop.rjm r on r.job = j.id
                  where j.type = hindrance.type and j.state = 'ready' and not j.held) then
    agent := 'rjm';
  end if;
  select p.type as what, p.paused_at, p.paused_by into f from bellhop.paused p where p.type in ('', hindrance.type) order by p.type limit 1;
  if found then
    cause := case when f.what = '' then 'paused/all' else 'paused' end;
    args := jsonb_build_object('type', f.what, 'at', date_trunc('second', f.paused_at), 'by', f.paused_by);
    return;
  end if;
  if not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = agent) then
    cause := case when hindrance.type = 'attachment' then 'unknown_type/row' else 'unknown_type' end;
    args := jsonb_build_object('type', quote_literal(hindrance.type), 'there', (
      select ' There are: ' || string_agg(distinct a.type, ', ') || '.' from bellhop.agent a join bellhop.instance i on i.id = a.instance
       where i.state = 'live' and a.type <> 'attachment'));
    return;
  end if;

  with place as materialized (
    select i.id, i.name as instance, i.stop, i.draining_since, i.queries, i.lag,
           case when i.heartbeat_at < clock_timestamp() - i.lag / 2 then clock_timestamp() - i.heartbeat_at end as silent,
           h.name, h.slots, a.type as agent, a.max, a.max_per_host, a.exclusive,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') || bellhop.since(h.state_since) end as down,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') end as down_words,
           a.trouble ->> h.name as trouble, a.deaths -> h.name as death,
           case when a.type is null then 'has no agent of this type'
                when a.local and h.far then 'is not its instance''s own machine, and the agent is local: true'
                when h.only_types is not null and agent <> all (h.only_types)
                  then format('takes only %s (only_types)', array_to_string(h.only_types, ', '))
                when agent = 'rjm' and hindrance.type !~ h.only_rjm then format('takes only types like %s', h.only_rjm)
                when hindrance.priority is not null and (h.only_priorities is not null or h.only_names is not null)
                     and hindrance.priority <> all (coalesce(h.only_priorities, '{}')) and coalesce(hindrance.priority_name !~ h.only_names, true)
                  then format('takes only priorities %s (only_priorities)', concat_ws(' and names like ', array_to_string(h.only_priorities, ', '), h.only_names))
           end as refuses
      from bellhop.instance i
      join bellhop.host h on h.instance = i.id
      left join bellhop.agent a on a.instance = i.id and a.type = agent
     where i.state = 'live' and (a.type is not null or hindrance.run_on is not null)
       and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on)
            or exists (select from bellhop.located l where l.instance = i.id and l.key = hindrance.run_on and h.name = any (l.hosts)))
  ), counted as materialized (
    select p.*,
           (select count(*) from bellhop.child c where c.instance = p.id and c.host = p.name and c.state not in ('FREE', 'FAIL')) as taken,
           (select count(*) from bellhop.child c where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as here,
           (select count(*) from bellhop.child c join bellhop.instance i on i.id = c.instance
             where i.state = 'live' and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as all_over,
           (select count(*) from bellhop.child c where c.instance = p.id and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as of_instance,
           exists (select from bellhop.child c where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state = 'READY') as idle,
           -- After a death there is a pause, and one child at a time until one has finished something.
           coalesce(p.trouble, case when not exists (select from bellhop.child c
                                      where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state in ('READY', 'RUNNING'))
                                    then (p.death ->> 'deaths') || ' deaths in a row: ' || (p.death ->> 'why') end) as failing,
           (select format('%s on %s%s', c.name, c.host, bellhop.since(c.since)) from bellhop.child c
             where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state in ('PREP', 'SPAWNED') limit 1) as coming,
           -- What an instance may have of a type's max: all have equal parts, the first ones the odd ones.
           (select p.max / count(*) + (count(*) filter (where x.instance < p.id) < p.max % count(*))::integer
              from bellhop.agent x join bellhop.instance y on y.id = x.instance where y.state = 'live' and x.type = p.agent) as part
      from place p
     where p.refuses is null
  ), judged as materialized (
    select c.*,
           case when c.idle then null
                when c.taken >= c.slots then format('%s has %s of %s slots taken', c.name, c.taken, c.slots)
                when c.max > 0 and c.all_over >= c.max then format('max is %s, and there are %s', c.max, c.all_over)
                when c.max > 0 and c.of_instance >= c.part then format('max is %s, and the part of instance %s is %s', c.max, c.instance, c.part)
                when c.max_per_host > 0 and c.here >= c.max_per_host then format('max_per_host is %s, and %s has %s', c.max_per_host, c.name, c.here)
           end as crowded,
           case when c.exclusive then
                  (select format('on instance %s run %s', c.instance, string_agg(q.words, ', ')) from (
                     select format('job %s (%s)', q.id, q.type) as words from bellhop.jobqueue q
                      where q.instance = c.id and q.state in ('assigned', 'running') order by q.id limit 5) q having count(*) > 0)
           end as others,
           case when not c.exclusive then
                  coalesce((select format('job %s (%s) is alone on instance %s%s', q.id, q.type, c.instance, bellhop.since(coalesce(q.attempt_at, q.started_at)))
                              from bellhop.jobqueue q
                             where q.instance = c.id and q.state in ('assigned', 'running')
                               and q.type = any (array(select x.type from bellhop.agent x where x.instance = c.id and x.exclusive)) limit 1),
                           'instance ' || c.instance || ' lets what runs there end first, for a job that waits' || bellhop.since(c.draining_since))
           end as alone,
           hindrance.msq and c.queries <= (select count(*) from bellhop.jobqueue q where q.instance = c.id and q.state in ('assigned', 'running') and q.msq is not null)
             and exists (select from bellhop.jobqueue q
                          where q.instance = c.id and q.state in ('assigned', 'running') and q.msq is not null and q.type = c.agent and q.host = c.name) as reading
      from counted c
  )
  select (select count(*) from place) as answer,
         (select string_agg(distinct format('%s %s', p.name, p.refuses), '; ') from place p where p.refuses is not null) as refusals,
         count(*) as fit,
         count(*) filter (where stop is null) as going,
         count(*) filter (where stop is null and silent is null) as heard,
         count(*) filter (where stop is null and silent is null and down is null) as up,
         count(*) filter (where stop is null and silent is null and down is null and failing is null) as well,
         count(*) filter (where stop is null and silent is null and down is null and failing is null and others is null) as quiet,
         count(*) filter (where stop is null and silent is null and down is null and failing is null and others is null and alone is null) as open,
         count(*) filter (where stop is null and silent is null and down is null and failing is null and others is null and alone is null and reading is not true) as reads,
         count(*) filter (where stop is null and silent is null and down is null and failing is null and others is null and alone is null and reading is not true
                            and crowded is null and (coming is null or idle)) as able,
         string_agg(distinct coming, '; ') filter (where crowded is null) as coming,
         string_agg(distinct format('%s (%s) is to %s', id, instance, stop), '; ') filter (where stop is not null) as stops,
         string_agg(distinct format('%s (%s) for %s, with a lag of %s', id, instance, date_trunc('second', silent), lag), '; ') filter (where silent is not null) as silences,
         string_agg(distinct format('%s: %s', name, down), '; ') as down,
         string_agg(distinct format('%s: %s', name, down_words), '; ') filter (where down is not null) as down_words,
         string_agg(distinct format('%s: %s', name, failing), '; ') filter (where failing is not null) as failing,
         string_agg(distinct others, '; ') as others,
         string_agg(distinct alone, '; ') as alone,
         string_agg(distinct format('%s (%s), %s', id, instance, queries), '; ') filter (where reading) as queries,
         string_agg(distinct crowded, '; ') as crowded,
         string_agg(distinct format('host %s of instance %s, with %s of %s slots taken', name, id, taken, slots), '; ') as checked
    into f
    from judged;

  if f.answer = 0 then
    cause := case when hindrance.run_on is null then 'no_host/none' else 'no_host' end;
    detail := hindrance.run_on || coalesce((select ' (locate: ' || min(l.error) || ')' from bellhop.located l where l.key = hindrance.run_on), '');
    args := jsonb_build_object('place', quote_literal(hindrance.run_on), 'locate', substr(detail, length(hindrance.run_on) + 1), 'there', (
      select ' There are: ' || string_agg(distinct h.name, ', ') || '.' from bellhop.host h join bellhop.instance i on i.id = h.instance where i.state = 'live'));
  elsif f.fit = 0 then
    cause := 'no_host/refused';
    detail := f.refusals;
    args := jsonb_build_object('hosts', f.refusals);
  elsif f.going = 0 then
    cause := 'instance_stopping';
    args := jsonb_build_object('instances', f.stops);
  elsif f.heard = 0 then
    cause := 'instance_silent';
    args := jsonb_build_object('instances', f.silences);
  elsif f.up = 0 then
    cause := 'host_down';
    detail := f.down_words;
    args := jsonb_build_object('hosts', f.down);
  elsif f.well = 0 then
    cause := 'agent_fails';
    detail := f.failing;
    args := jsonb_build_object('hosts', f.failing);
  elsif f.quiet = 0 then
    cause := 'exclusive';
    detail := 'waits until nothing else runs';
    args := jsonb_build_object('jobs', f.others);
  elsif f.open = 0 then
    cause := 'exclusive/behind';
    detail := 'a job that must be alone comes first';
    args := jsonb_build_object('jobs', f.alone);
  elsif f.reads = 0 then
    cause := 'queries_full';
    args := jsonb_build_object('instances', f.queries);
  elsif f.able = 0 and f.coming is not null then
    cause := 'child_starting/first';
    args := jsonb_build_object('children', f.coming);
  elsif f.able = 0 then
    cause := 'no_room';
    args := jsonb_build_object('limits', f.crowded, 'children', (
      select ' ' || string_agg(x.words, '; ') || '.' from (
        select format('%s on %s is %s%s for %s', c.name, c.host, c.state, coalesce(' (job ' || c.job || ')', ''), date_trunc('second', clock_timestamp() - c.since)) as words
          from bellhop.instance i join bellhop.host h on h.instance = i.id join bellhop.child c on c.instance = h.instance and c.host = h.name
         where i.state = 'live' and c.state not in ('FREE', 'FAIL') and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on))
         order by c.since limit 5) x));
  else
    args := jsonb_build_object('checked', f.checked); -- and nothing found
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.idle_turn(since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select idle_turn.since < clock_timestamp() - interval '2 s' $function$;

CREATE OR REPLACE FUNCTION bellhop.is_operator()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (pg_has_role(bellhop.caller(), ( SELECT c.relowner
            FROM pg_class c
           WHERE (c.oid = ('bellhop.jobqueue'::regclass)::oid)), 'member'::text) OR COALESCE(( SELECT pg_has_role(bellhop.caller(), r.oid, 'member'::text) AS pg_has_role
            FROM pg_roles r
           WHERE (r.rolname = 'bellhop_operator'::name)), false));
END;

CREATE OR REPLACE FUNCTION bellhop.is_reader()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT has_table_privilege(bellhop.caller(), ('bellhop.instance'::regclass)::oid, 'select'::text) AS has_table_privilege;
END;

CREATE OR REPLACE FUNCTION bellhop.is_served(type text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id
                  where i.state = 'live' and a.type = is_served.type and not i.paused && array[is_served.type, ''])
$function$;

CREATE OR REPLACE FUNCTION bellhop.job_name(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce((select format('job %s%s', j.id, coalesce(' (' || j.key || ')', '')) from bellhop.jobqueue j where j.id = job_name.id),
                  format('job %s', job_name.id))
$function$;

CREATE OR REPLACE FUNCTION bellhop.jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if exists (select from bellhop.lost_run) then
    delete from bellhop.lost_run l using gone g where l.job = g.id;
  end if;
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
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select pg_notify('bellhop', '') $function$;

CREATE OR REPLACE FUNCTION bellhop.killjob(id bigint, by text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  was text;
  who text := coalesce(killjob.by, bellhop.caller());
begin
  -- The lock settles the race with a claim or an outcome.
  -- Who waits for a lock that it asked for while it ran has a process that must be dead first.
  select case when j.state = 'assigned' and j.waiting_for like 'lock_held: %' then 'running' else j.state end into was
    from bellhop.jobqueue j where j.id = killjob.id for update;
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

CREATE OR REPLACE FUNCTION bellhop.leave_attachment(id bigint, back text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_attachment(id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select from bellhop.attachment x where x.id = lock_attachment.id for update $function$;

CREATE OR REPLACE FUNCTION bellhop.lock_places(level text, name text)
 RETURNS numeric
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case level
    when 'rate-limit' then substring(name, '^[0-9]+')::numeric
    when 'filter' then coalesce((select substring(f.action, '[0-9]+')::numeric from bellhop.filter f where f.id = lock_places.name), 32)
  end
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_queue(most integer)
 RETURNS TABLE(level text, name text, mode text, what text, job bigint, type text, instance bigint, since timestamp with time zone, place bigint, waiting_for text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with recursive waited as (
    select w.behind from bellhop.waited_for(1000) w where bellhop.is_reader()
    union all
    select '' where bellhop.is_reader()
  ), typed as (
    select w.behind, (select min(j.type) from bellhop.jobqueue j
                       where coalesce(j.behind, '') = w.behind and j.state = 'ready' and not j.held and j.locks is not null) as type
      from waited w
    union all
    select t.behind, (select min(j.type) from bellhop.jobqueue j
                       where coalesce(j.behind, '') = t.behind and j.state = 'ready' and not j.held and j.locks is not null and j.type > t.type)
      from typed t where t.type is not null
  ), waiting as (
    select t.behind, f.*, row_number() over (partition by t.behind order by f.priority, f.id) as place
      from typed t
     cross join lateral (
       select j.id, j.type, j.priority, j.created_at, j.waiting_for from bellhop.jobqueue j
        where coalesce(j.behind, '') = t.behind and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
        order by j.priority, j.id limit lock_queue.most) f
     where t.type is not null
  )
  select l.level, l.name, l.mode, 'holds', l.job, j.type, l.instance, l.since, null::bigint, null::text
    from bellhop.lock l join bellhop.jobqueue j on j.id = l.job
   where bellhop.is_reader()
  union all
  select split_part(w.behind, ':', 1), substr(w.behind, strpos(w.behind, ':') + 1), null, case w.behind when '' then 'next' else 'waits' end,
         w.id, w.type, null, w.created_at, w.place, w.waiting_for
    from waiting w where w.place <= lock_queue.most
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_scene(most integer, mine bigint DEFAULT 0)
 RETURNS TABLE(job bigint, type text, priority integer, locks text[], behind text, place bigint, holds boolean, age double precision, runs double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with share as materialized (
    select greatest(lock_scene.most / (count(*) + 1), 1)::integer as n from bellhop.waited_for(1000)
  ), seen as materialized (
    select q.* from share cross join lateral bellhop.lock_queue(share.n) q
  ), jobs as (
    select s.job, array_agg(case s.level when 'big' then 'big' else s.level || ':' || s.name || '=' || s.mode end)
                    filter (where s.mode in ('shared', 'exclusive')) as locks, '' as behind, 0 as place, true as holds
      from seen s where s.what = 'holds' group by s.job
    union all
    select s.job, null, case s.what when 'next' then '' else s.level || ':' || s.name end, s.place, false
      from seen s where s.what <> 'holds'
    union all
    select j.id, null, coalesce(j.behind, ''), 0, false from bellhop.jobqueue j
     where j.id = lock_scene.mine and bellhop.is_reader() and j.state || '' = 'ready' and not j.held and j.locks is not null
       and not exists (select from seen s where s.job = j.id)
  )
  select k.job, j.type, j.priority::integer, case when k.holds then coalesce(k.locks, '{}') else coalesce(j.locks, '{}') end, k.behind, k.place, k.holds,
         extract(epoch from clock_timestamp() - j.created_at)::float8,
         extract(epoch from clock_timestamp() - coalesce(j.attempt_at, j.started_at, clock_timestamp()))::float8
    from jobs k join bellhop.jobqueue j on j.id = k.job
$function$;

CREATE OR REPLACE FUNCTION bellhop.locks_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if new.type in ('command', 'dummy') then
    raise check_violation using message = format('a job of type %s runs nothing that could need a lock', new.type),
      constraint = 'jobqueue_locks_well_formed', table = 'jobqueue', column = 'locks', hint = 'Leave locks out.';
  end if;
  if new.locks is null then
    update bellhop.jobqueue j set locks = '{}' where j.id = new.id and j.locks is null;
  elsif tg_op = 'UPDATE' then -- what it waits behind is of its old locks
    update bellhop.jobqueue j set behind = null where j.id = new.id and j.behind is not null;
  end if;
  perform pg_notify('bellhop', 'locks');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.locks_clash(want text, level text, name text, mode text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when mode not in ('exclusive', 'shared') then false
    when want = 'big' or level = 'big' then true
    else split_part(want, ':', 1) = level
     and (want like '%=exclusive' or mode = 'exclusive')
     and w.name <> '?' and locks_clash.name <> '?' and (w.name = locks_clash.name or '*' in (w.name, locks_clash.name))
  end
  from (select regexp_replace(substr(want, strpos(want, ':') + 1), '=[a-z]+$', '') as name) w
$function$;

CREATE OR REPLACE FUNCTION bellhop.locks_ok(locks text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(bool_and(coalesce(l, '') ~ '^(big|[A-Za-z0-9_-]+:.+=(exclusive|shared))$' and octet_length(l) <= 2100), true)
  from unnest(locks) l
$function$;

CREATE OR REPLACE FUNCTION bellhop.locks_upkeep(reserve_after bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  if (select true from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
       order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1) is null
     and not exists (select from bellhop.lock_grant) then
    return false;
  end if;
  perform bellhop.find_lost_turns();
  delete from bellhop.lock_reserved r
   where not exists (select from bellhop.jobqueue j
                      where j.id = r.job and j.state || '' = 'ready' and not j.held and j.locks is not null and bellhop.is_served(j.type));
  if reserve_after > 0 then
    insert into bellhop.lock_reserved (job)
    select f.job
      from (select '' as behind union all select l.behind from bellhop.waited_for(1000) l) w
     cross join lateral bellhop.heads_behind(w.behind) f
     where f.since < clock_timestamp() - reserve_after * interval '1 ms'
       and not exists (select from bellhop.lock_reserved r where r.job = f.job)
       and bellhop.is_served((select j.type from bellhop.jobqueue j where j.id = f.job))
     order by f.since, f.job limit greatest(0, 200 - (select count(*) from bellhop.lock_reserved)) -- each pass looks at all of them
    on conflict do nothing;
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.look_again(most integer, OUT looked integer, OUT more boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
    perform bellhop.ended(w.failed) from bellhop.resolve(jobs, true) w;
    -- Claims pass over rows that are locked, and we have locked some.
    perform pg_notify('bellhop', '');
  end if;
  more := exists (select from bellhop.dependency d where not d.counted);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.make_run(w bellhop.workflow, event text, slot timestamp with time zone, who text, given jsonb, skips boolean, chosen text[] DEFAULT NULL::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  r     bigint;
  ahead bigint; -- the last job of the run before it
  door  bigint; -- its gate
  close bigint; -- its last
  all_ends constant text[] := '{succeeded,failed,cancelled,quarantined}';
  vals  jsonb;
  steps jsonb := w.definition -> 'steps';
  ids   jsonb; -- of steps, by name
begin
  perform bellhop.runs_lost(w.name);
  if not w.active and skips or skips and exists (select from bellhop.run x where x.workflow = w.name and x.state = 'queued') then
    insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, ended_at, reason)
    values (w.name, w.version, event, who, 'skipped', given, clock_timestamp(),
            case when w.active then 'a run of this workflow was queued already' else 'the workflow is not active' end)
    returning id into r;
    return r;
  end if;
  select x.last into ahead from bellhop.run x where x.workflow = w.name and x.state in ('queued', 'running') order by x.id desc limit 1;
  insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, started_at)
  values (w.name, w.version, event, who, case when ahead is null then 'running' else 'queued' end, given,
          case when ahead is null then clock_timestamp() end)
  returning id into r;
  vals := coalesce(w.definition -> 'parameters', '{}') || given || jsonb_strip_nulls(jsonb_build_object(
    'WORKFLOW', w.name, 'RUN', r::text, 'EVENT', coalesce(event, ''),
    'SLOT', to_char(coalesce(slot, now()) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'SLOT_DATE', to_char(coalesce(slot, now()) at time zone coalesce(w.definition -> 'sensor' ->> 'zone', 'UTC'), 'YYYY-MM-DD')));
  if ahead is not null then
    insert into bellhop.jobqueue (type, run, on_failure) values ('dummy', r, 'run') returning id into door;
  end if;
  with made as (
    insert into bellhop.jobqueue (type, args, msq, run_on, priority, vars, locks, max_attempts, timeout, on_failure, traceparent, own_attempts, run, step)
    select s ->> 'type', bellhop.filled(s ->> 'args', vals), s ->> 'msq', bellhop.filled(s ->> 'run_on', vals),
           coalesce((s ->> 'priority')::smallint, 0),
           (select jsonb_object_agg(v.key, bellhop.filled(v.value, vals)) from jsonb_each_text(s -> 'vars') v),
           case when s ? 'locks' then array(select bellhop.filled(l, vals) from jsonb_array_elements_text(s -> 'locks') l) end,
           coalesce((s ->> 'max_attempts')::integer, 1), (s ->> 'timeout')::interval, coalesce(s ->> 'on_failure', 'fail'),
           nullif(current_setting('bellhop.traceparent', true), ''), case when s ? 'max_attempts' then true end, r, s ->> 'name'
      from jsonb_array_elements(steps) with ordinality as x (s, n)
     where chosen is null or s ->> 'name' = any (chosen)
     order by n
    returning id, step
  )
  select jsonb_object_agg(m.step, m.id) into ids from made m;
  insert into bellhop.jobqueue (type, run, on_failure) values ('dummy', r, 'run') returning id into close;
  with recursive need (step, needs) as (
    select s ->> 'name', a.name
      from jsonb_array_elements(steps) s, jsonb_array_elements_text(coalesce(s -> 'after', '[]')) a (name)
  ), way (step, needs) as (
    select n.step, n.needs from need n where ids ? n.step
    union
    select y.step, n.needs from way y join need n on n.step = y.needs where not ids ? y.needs
  ), edge (job, needs, wanted) as (
    select (ids ->> y.step)::bigint, (ids ->> y.needs)::bigint, '{succeeded}'::text[] from way y where ids ? y.needs
    union all
    select i.value::bigint, door, all_ends from jsonb_each_text(ids) i
     where door is not null and not exists (select from way y where y.step = i.key and ids ? y.needs)
    union all
    select door, ahead, all_ends where door is not null
    union all
    select close, i.value::bigint, all_ends from jsonb_each_text(ids) i
  )
  insert into bellhop.dependency (job, needs, wanted) select e.job, e.needs, e.wanted from edge e;
  update bellhop.run x set gate = door, last = close where x.id = r;
  return r;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.make_run_or_say(w bellhop.workflow, event text, slot timestamp with time zone, given jsonb, skips boolean, safely boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  r     bigint;
  who   text := 'sensor ' || coalesce(bellhop.sensor_kind(w.definition), 'event');
  state text;
  why   text;
begin
  if not safely then
    return bellhop.make_run(w, event, slot, who, given, skips);
  end if;
  begin
    return bellhop.make_run(w, event, slot, who, given, skips);
  exception when others then
    get stacked diagnostics state = returned_sqlstate, why = message_text;
    if state in ('40001', '40P01', '55P03') then -- another time it may be
      raise;
    end if;
  end;
  insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, started_at, ended_at, reason)
  values (w.name, w.version, event, who, 'running', given, clock_timestamp(), null, null)
  returning id into r;
  perform bellhop.run_ended(r, 'failed', left('its jobs cannot be made: ' || why, 2000));
  update bellhop.sensor s set problem = left(why, 2000), since = coalesce(s.since, clock_timestamp()) where s.workflow = w.name;
  return r;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.manager(what text, name text DEFAULT ''::text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  called text := coalesce((select i.name from bellhop.instance i where i.state = 'live' and i.id::text = manager.name), manager.name, '');
begin
  perform bellhop.refuse_but_operators('stop and start the scheduling of workflows');
  if what not in ('stop', 'start') then
    raise invalid_parameter_value using message = format('the manager cannot %s', what), hint = 'stop or start';
  elsif what = 'stop' then
    if called <> '' and not exists (select from bellhop.instance i where i.name = called and i.state = 'live') then
      raise undefined_object using message = format('there is no instance %s', called), hint = 'bellhop instances';
    end if;
    insert into bellhop.manager_stop (name, by) values (called, bellhop.caller()) on conflict do nothing;
  elsif called = '' then
    delete from bellhop.manager_stop;
  elsif exists (select from bellhop.manager_stop m where m.name = '') then
    raise object_not_in_prerequisite_state using message = 'all instances are stopped, and not this one alone',
      hint = 'bellhop manager start   starts them all.';
  else
    delete from bellhop.manager_stop m where m.name = called;
  end if;
  perform pg_notify('bellhop_due', '');
  return (select count(*) from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id));
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.may_change(submitted_by text)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (bellhop.owns(submitted_by) OR bellhop.is_operator() OR has_table_privilege(bellhop.caller(), ('bellhop.jobqueue'::regclass)::oid, 'update'::text));
END;

CREATE OR REPLACE FUNCTION bellhop.needed_by_way(ids bigint[])
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
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
     where j.type = 'command' and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null
       and j.unmet is null and (j.run_at is null or j.run_at <= clock_timestamp())
       and not exists (select from bellhop.dependency d where d.job = j.id and not d.counted)
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

CREATE OR REPLACE FUNCTION bellhop.own_roles()
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT ARRAY( SELECT (r.rolname)::text AS rolname
            FROM pg_roles r
           WHERE pg_has_role(bellhop.caller(), r.oid, 'member'::text)) AS "array";
END;

CREATE OR REPLACE FUNCTION bellhop.owns(submitted_by text)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT COALESCE(((submitted_by = (bellhop.caller())::text) OR (submitted_by = ANY (bellhop.own_roles()))), false) AS "coalesce";
END;

CREATE OR REPLACE FUNCTION bellhop.pass_dummies(told boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  ids   bigint[];
  ready integer := 0;
  of_runs boolean;
begin
  loop
    with passed as (
      update bellhop.jobqueue j
         set state = 'succeeded', attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock_timestamp()),
             attempt_at = case when j.started_at is not null then clock_timestamp() end,
             ended_at = clock_timestamp(), exit_code = 0, waiting_for = null
       where j.id = any (array(
               select d.id from bellhop.jobqueue d
                where d.type = 'dummy' and d.state = 'ready' and not d.held and d.run_on is null and d.locks is null and d.unmet is null
                  and (d.run_at is null or d.run_at <= clock_timestamp())
                  and not exists (select from bellhop.dependency x where x.job = d.id and not x.counted)
                order by d.priority, d.id limit 1000
                  for update skip locked))
      returning j.id, j.run
    )
    select array_agg(p.id), coalesce(bool_or(p.run is not null), false) into ids, of_runs from passed p;
    exit when ids is null;
    if of_runs then
      perform bellhop.runs_moved(ids);
    end if;
    ids := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
    if ids <> '{}' then
      ready := ready + bellhop.release_dependents(ids, told);
    end if;
  end loop;
  return ready;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.pass_locks(most integer DEFAULT 32)
 RETURNS text[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  k      record;
  next   record;
  lock   text;
  places numeric;
  along  boolean;
  alive  text[];
  idle   text[];
  turns  integer;
  woken  text[] := '{}';
  freed  boolean := false;
begin
  for k in
    with over as (
      delete from bellhop.lock_grant g
       where (g.until is null or g.until <= clock_timestamp())
         and (g.until is not null and g.level = 'filter' -- a start, which counts for its time, and no longer
              or not exists (select from bellhop.jobqueue j
                              where j.id = g.job and j.fence = g.fence
                                and case g.mode when 'turn' then j.state = 'ready' and not j.held and coalesce(j.behind, '') = ''
                                                when 'kept' then j.state = 'ready' and not j.held
                                                                 and exists (select from bellhop.lock_reserved r where r.job = j.id)
                                                else j.state in ('assigned', 'running') end))
      returning g.level, g.name, g.mode
    )
    select distinct o.level, o.name
      from over o
     where (select true from bellhop.jobqueue j -- most often nobody waits. In order: the primary key would fit as well else
             where coalesce(j.behind, '') = o.level || ':' || o.name and j.state = 'ready' and not j.held and j.locks is not null
             order by j.type, j.priority, j.id limit 1)
     order by o.level, o.name
  loop
    freed := true;
    lock := k.level || ':' || k.name;
    -- Running jobs that wait for it come first.
    alive := array(select g.mode from bellhop.lock_grant g
                    where g.level = k.level and g.name = k.name and not (g.mode = 'turn' and bellhop.idle_turn(g.since))
                   union all select w.mode from bellhop.lock_waiting w where w.level = k.level and w.name = k.name);
    idle := array(select j.type from bellhop.lock_grant g join bellhop.jobqueue j on j.id = g.job
                   where g.level = k.level and g.name = k.name and g.mode = 'turn' and bellhop.idle_turn(g.since));
    places := bellhop.lock_places(k.level, k.name) - cardinality(alive);
    continue when places <= 0 or places is null and alive && '{exclusive,turn,kept}';
    turns := 0;
    for next in select * from bellhop.first_behind(lock, least(places, pass_locks.most)::integer, idle) loop
      along := places is not null or lock || '=shared' = any (next.locks)
            or alive = '{}' and next.locks <> '{}' and case k.level when 'big' then 'big' else lock || '=exclusive' end <> all (next.locks);
      -- Beside sharers one of which nothing is known may go, and is looked at.
      exit when not along and (turns > 0 or alive <> '{}' and next.locks <> '{}');
      turns := turns + 1;
      woken := woken || (select j.type from bellhop.jobqueue j where j.id = next.job);
      update bellhop.jobqueue j set behind = '' where j.id = next.job;
      insert into bellhop.lock_grant (level, name, job, fence, mode) values (k.level, k.name, next.job, next.fence, 'turn')
      on conflict (level, name, job) do update set fence = excluded.fence, mode = excluded.mode, since = clock_timestamp();
      exit when not along;
    end loop;
  end loop;
  if freed and exists (select from bellhop.lock_waiting) then
    perform pg_notify('bellhop', 'locks'); -- other instances' jobs may wait for it
  end if;
  return woken;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.pause(type text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  insert into bellhop.paused (type, paused_by) values (coalesce(pause.type, ''), bellhop.caller()) on conflict do nothing;
  update bellhop.instance i set paused = (select array_agg(p.type) from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.place()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select (case when left(lower(name), 1) between 'a' and 'z' then ascii(lower(name)) - ascii('n') else -20 end)::smallint
$function$;

CREATE OR REPLACE FUNCTION bellhop.prune(older_than interval, states text[], past bigint, most integer, rjm boolean DEFAULT false, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
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
                  -- The dummies of a run stay with it, and a run while it is not over, or could go on.
                  and (j.run is null or j.step is not null and not exists (
                         select from bellhop.run r where r.id = j.run and (r.ended_at is null or r.ended_at >= clock_timestamp() - older_than)))
                  and (not prune.rjm or exists (select from bellhop.rjm r where r.job = j.id))
                order by j.id limit most
                  for update of j skip locked);
  last := ids[cardinality(ids)];
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.lost_run l where l.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.deadline d where d.job = any (ids);
  delete from bellhop.rjm r where r.job = any (ids);
  delete from bellhop.attached x where x.job = any (ids);
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics deleted = row_count;
  if not prune.rjm then
    perform bellhop.prune_runs(older_than, most);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.prune_runs(older_than interval, most integer)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ids bigint[] := array(select r.id from bellhop.run r
                         where r.ended_at < clock_timestamp() - older_than
                           and not exists (select from bellhop.dependency d where d.job = r.last)
                         order by r.ended_at limit most for update of r skip locked);
begin
  if ids = '{}' then
    return;
  end if;
  delete from bellhop.jobqueue j where j.id = any (array(select x from bellhop.run r, unnest(array[r.gate, r.last]) x where r.id = any (ids)));
  delete from bellhop.event e using bellhop.run r where r.id = any (ids) and e.workflow = r.workflow and e.event = r.event and e.run = r.id;
  delete from bellhop.run r where r.id = any (ids);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.reason(cause text, args jsonb DEFAULT '{}'::jsonb)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select coalesce(c.code, reason.cause), coalesce(bellhop.fill(c.sentence, reason.args), reason.args::text),
         coalesce(bellhop.fill(c.next, reason.args), 'bellhop doctor')
    from (select) one
    left join bellhop.causes() c on c.cause = reason.cause
$function$;

CREATE OR REPLACE FUNCTION bellhop.reason_of(error text, reason text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    -- The error is what the agent said, and no more of it: scheduler.SaidFailed.
    when reason = 'the agent said that it failed' then case when starts_with(error, 'killed: by ') then 'killed: by an operator' else reason end
    when starts_with(error, reason || ': ') then reason
    when error ~ '^msq_error: .*\(SQLSTATE [0-9A-Z]{5}\)' then regexp_replace(error, '^(msq_error): .*?\(SQLSTATE ([0-9A-Z]{5})\).*$', '\1: SQLSTATE \2')
    else regexp_replace(error, '^(.*?(exit status [0-9]+|killed by signal [0-9]+ \([^)]*\)|killed on order|BYE -?[0-9]+)): .*$', '\1')
  end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  rule text;
begin
  -- In the order in which the CHECKs were looked at: that of their names.
  rule := case
    when not (strpos(new.args, e'\n') = 0 and strpos(new.args, e'\r') = 0) then 'args_one_line'
    when not (new.args is null or new.msq is null) then 'args_or_msq'
    when not (new.key <> '' and length(new.key) <= 1000) then 'key_not_empty'
    when not (new.locks is null or bellhop.locks_ok(new.locks)) then 'locks_well_formed'
    when not (new.max_attempts >= 1) then 'max_attempts'
    when not (new.msq ~ '\S') then 'msq_not_empty'
    when not (new.on_failure in ('fail', 'block', 'run')) then 'on_failure_known'
    when not (new.priority_name ~ '^[A-Za-z0-9]+$') then 'priority_name'
    when not (new.priority between -20 and 19) then 'priority_range'
    when not (new.repeat in ('once', 'until_empty')) then 'repeat_known'
    when not (new.repeat is null or new.msq is not null) then 'repeat_needs_msq'
    when not (new.run_on <> '') then 'run_on_not_empty'
    when not (new.timeout > interval '0') then 'timeout_positive'
    when not (new.type <> '') then 'type_named'
    when not (new.vars is null or (jsonb_typeof(new.vars) = 'object'
              and not jsonb_path_exists(new.vars, 'strict $.* ? (@.type() != "string")'))) then 'vars_are_strings'
  end;
  if rule is null then
    return new;
  end if;
  raise check_violation using
    message = format('new row for relation "jobqueue" violates check constraint "jobqueue_%s"', rule),
    constraint = 'jobqueue_' || rule, table = 'jobqueue', schema = 'bellhop';
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse_but_operators(verb text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  if not (bellhop.is_operator() or pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.workflow'::regclass, 'update')) then
    raise insufficient_privilege using
      message = format('permission denied: %s may not %s', bellhop.caller(), verb),
      hint = format('That is for operators: grant bellhop_operator to %I.', bellhop.caller());
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse_cycles(jobs bigint[], give_up boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
   where j.id = walk[1] and j.state in ('held', 'blocked', 'scheduled', 'ready'); -- held too: nobody looks again when it is released
  perform bellhop.ended(walk[1:1]);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse_others(id bigint, verb text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  j record;
begin
  select q.submitted_by into j from bellhop.jobqueue q where q.id = refuse_others.id;
  if not found then
    return false;
  elsif bellhop.may_change(j.submitted_by) then
    return true;
  elsif not bellhop.is_reader() then
    return false;
  end if;
  raise insufficient_privilege using
    message = format('permission denied: %s may not %s job %s, which %s', bellhop.caller(), verb, refuse_others.id,
                     coalesce(j.submitted_by || ' has submitted', 'was submitted before that was kept')),
    hint = format('That is for its submitter and for operators: grant bellhop_operator to %I.', bellhop.caller());
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.refuse_parameters(w bellhop.workflow, given jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  unknown text;
begin
  if jsonb_typeof(given) is distinct from 'object' or jsonb_path_exists(given, 'strict $.* ? (@.type() != "string")') then
    raise invalid_parameter_value using message = 'parameters are a JSON object of strings', hint = 'as in {"DAY": "2026-11-01"}';
  end if;
  select k into unknown from jsonb_object_keys(given) k where not coalesce(w.definition -> 'parameters', '{}') ? k limit 1;
  if found then
    raise invalid_parameter_value using message = format('workflow %s has no parameter %s', w.name, unknown),
      hint = coalesce((select 'It has ' || string_agg(k, ', ') from jsonb_object_keys(w.definition -> 'parameters') k), 'It has none.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.release(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  freed  bigint[];
  needy  bigint[];
  now_is text;
begin
  if not bellhop.refuse_others(release.id, 'release') then
    return null;
  end if;
  with recursive way (id) as (
    select release.id
    union
    select d.job from way w join bellhop.dependency d on d.needs = w.id
  ), locked as materialized (
    select j.id from bellhop.jobqueue j join way w on w.id = j.id where (j.state = 'held' or j.held and j.state in ('blocked', 'scheduled', 'ready')) and bellhop.may_change(j.submitted_by) order by j.id for no key update of j
  ), moved as (
    update bellhop.jobqueue j
       set held = false,
           state = case when j.unmet is not null then 'blocked' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
     where j.id in (select l.id from locked l) and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.unmet
  )
  select array_agg(m.id), array_agg(m.id order by m.id) filter (where m.unmet is not null) into freed, needy from moved m;
  if needy is not null then
    perform bellhop.ended(w.failed) from bellhop.resolve(needy, false) w; -- some may have failed while they were held
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
 SET search_path TO 'pg_catalog', 'pg_temp'
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
    -- A long chain of failures must not hold up the outcomes behind it: maintenance goes on with it.
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
    -- Dependencies that nobody has counted yet: their jobs are resolved anew.
    doubt := array(select j.id from bellhop.jobqueue j
                    where j.id = any (array(select d.job from bellhop.dependency d where d.needs = any (over) and not d.met and not d.counted))
                      and j.state in ('held', 'blocked', 'scheduled', 'ready')
                    order by j.id
                      for no key update skip locked);
    if doubt <> '{}' then
      select w.ready, w.failed into n_ready, fell from bellhop.resolve(doubt, false) w;
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

CREATE OR REPLACE FUNCTION bellhop.resolve(jobs bigint[], sure boolean, OUT ready integer, OUT failed bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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

CREATE OR REPLACE FUNCTION bellhop.resume(type text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
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
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  was    bellhop.jobqueue;
  now_is text;
begin
  if not bellhop.refuse_others(retry.id, 'retry') then
    return null;
  end if;
  perform bellhop.retry_attached(retry.id)
    from bellhop.jobqueue j where j.id = retry.id and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into was from bellhop.jobqueue j where j.id = retry.id for update;
  if was.state is null or was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return was.state;
  end if;
  if was.attempt > 0 and was.started_at is not null then
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes, spawned_at)
    select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
           was.exit_code, was.error, was.successes, was.spawned_at
    where not exists (select 1 from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
  end if;
  update bellhop.jobqueue j
     set state = 'ready', held = false, run_at = null, max_attempts = greatest(j.max_attempts, j.attempt + 1),
         not_after = case when j.not_after > clock_timestamp() then j.not_after end,
         ended_at = null, exit_code = null, error = null, reason = null, waiting_for = null, successes = null, instance = null,
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null,
         items_total = null, items_done = null, items_failed = null, result = null, progress = null, progress_text = null,
         locks = coalesce(j.locks, case when j.type not in ('command', 'dummy') and exists (select from bellhop.filter) then '{}'::text[] end) -- the next pass asks them
   where j.id = retry.id;
  if exists (select from bellhop.dependency d where d.job = retry.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[retry.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  if was.run is not null then
    perform bellhop.step_again(was.run, was.id);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = retry.id;
  perform bellhop.kick();
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retry_attached(job bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform pg_notify('bellhop', 'inserted');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ring_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
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
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
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
  select * into old from bellhop.jobqueue j where j.key = rjm_setup.id collate "default";
  if old.id is not null and not (bellhop.owns(old.submitted_by) or bellhop.is_operator()) then
    raise unique_violation using message = format('%s is set up already, by others', rjm_setup.id), hint = 'Choose another nonce.';
  elsif old.id is not null then
    had := string_to_array(old.vars ->> 'RJM_CONFIG', e'\n');
    has := string_to_array(config, e'\n');
    if had is null then
      raise unique_violation using message = format('%s is job %s, which rjmsetup has not made', rjm_setup.id, old.id), hint = 'Choose another nonce.';
    elsif old.priority_name is distinct from prio collate "default" then
      raise unique_violation using message = format('%s is set up already with another priority: %s, not %s', rjm_setup.id, coalesce(old.priority_name, 'none'), prio),
        hint = 'What is set up does not change. Choose another nonce.';
    elsif had is distinct from has collate "default" then
      while had[n] is not distinct from has[n] collate "default" loop
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
    -- None of another's is looked at, or locked.
    select * into child from bellhop.jobqueue j where j.key = name collate "default" and bellhop.may_change(j.submitted_by) for update;
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

CREATE OR REPLACE FUNCTION bellhop.row_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.row_job_key(name text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when length(name) + length(key) < 900 then name || '/' || key else left(name || '/' || key, 900) || '…' || md5(key) end
$function$;

CREATE OR REPLACE FUNCTION bellhop.run_ended(id bigint, state text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'on'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  called text;
  rung   boolean := false;
begin
  update bellhop.run r
     set state = run_ended.state, reason = run_ended.reason, ended_at = clock_timestamp(), started_at = coalesce(r.started_at, clock_timestamp())
   where r.id = run_ended.id and r.state in ('queued', 'running')
  returning r.workflow into called;
  if not found or not exists (select from bellhop.sensor) then
    return;
  end if;
  insert into bellhop.event (workflow, event)
  select s.workflow, 'run=' || run_ended.id
    from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
   where s.source = called and w.active and coalesce(w.definition -> 'sensor' -> 'when', '["succeeded"]') ? run_ended.state
  on conflict do nothing;
  rung := found;
  -- One that begins again after its end. Where somebody has its row in hand, the safety scan finds it (bellhop.sensors_next).
  update bellhop.sensor s
     set next_fire = clock_timestamp() + (w.definition -> 'sensor' ->> 'every')::interval
    from bellhop.workflow w
   where s.workflow = any (array(select y.workflow from bellhop.sensor y where y.workflow = called and y.kind = 'every' and y.next_fire = 'infinity'
                                    for update skip locked))
     and w.name = s.workflow;
  if rung or found then
    perform pg_notify('bellhop_due', '');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_lost(workflow text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  x record;
begin
  for x in
    select r.id, r.last, j.id is not null as there
      from bellhop.run r left join bellhop.jobqueue j on j.id = r.last
     where r.workflow = runs_lost.workflow and r.state in ('queued', 'running')
       and (j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'))
     order by r.id
  loop
    if x.there then
      perform bellhop.runs_moved(array[x.last]);
    else
      perform bellhop.run_ended(x.id, 'failed', 'its jobs were deleted');
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_moved(dummies bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  x    record;
  ends text;
begin
  for x in
    select r.*, r.last = any (dummies) as over from bellhop.run r
     where r.id = any (array(select j.run from bellhop.jobqueue j where j.id = any (dummies) and j.run is not null))
     order by r.id
  loop
    if not x.over then
      update bellhop.run r set state = 'running', started_at = clock_timestamp() where r.id = x.id and r.state = 'queued';
      continue;
    end if;
    select format('step %s %s (job %s)', j.step, case j.state when 'failed' then 'failed' else 'was ' || j.state end, j.id) into ends
      from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
     where d.job = x.last and j.state <> 'succeeded'
     order by j.ended_by is not null, j.id limit 1;
    perform bellhop.run_ended(x.id, case when ends is null then 'succeeded' else 'failed' end, ends);
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_kind(definition jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when coalesce(jsonb_typeof(definition -> 'sensor'), 'null') = 'null' then null
              when definition -> 'sensor' ? 'cron' then 'cron'
              when definition -> 'sensor' ? 'every' then 'every'
              when definition -> 'sensor' ? 'workflow' then 'workflow'
              else 'unknown' end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensors_begin()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  update bellhop.sensor s set next_fire = '-infinity'
   where s.workflow = any (array(
     select y.workflow from bellhop.sensor y
      where y.kind = 'every' and y.next_fire = 'infinity'
        and not exists (select from bellhop.run r where r.workflow = y.workflow and r.state in ('queued', 'running'))
        for update skip locked))
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensors_next(instance bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not exists (select from bellhop.workflow w where w.active) and not exists (select from bellhop.event e where e.run is null)
     or not bellhop.starts_workflows(sensors_next.instance) then
    return null;
  elsif bellhop.unassigned() or exists (select from bellhop.event e where e.run is null)
     or exists (select from bellhop.sensor s where s.kind = 'every' and s.next_fire = 'infinity'
                   and not exists (select from bellhop.run r where r.workflow = s.workflow and r.state in ('queued', 'running'))) then
    return 0;
  end if;
  return (select case when s.next_fire <= now() then 0 else ceil(extract(epoch from s.next_fire - clock_timestamp()) * 1000) end
                 + case when w.instance = sensors_next.instance then 0 else 2000 end
            from (select y.workflow, y.next_fire from bellhop.sensor y where y.next_fire < 'infinity' order by y.next_fire limit 100) s
            join bellhop.workflow w on w.name = s.workflow
           order by 1 limit 1)::bigint;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.since(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select ' since ' || date_trunc('second', at) || ' (' || date_trunc('second', greatest(clock_timestamp() - at, interval '0')) || ')'
$function$;

CREATE OR REPLACE FUNCTION bellhop.starts_workflows(instance bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (select from bellhop.instance i where i.id = instance and i.state = 'live'
                    and not exists (select from bellhop.manager_stop m where m.name in ('', i.name)))
$function$;

CREATE OR REPLACE FUNCTION bellhop.step_again(run bigint, job bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  r bellhop.run;
begin
  select * into r from bellhop.run x where x.id = step_again.run for update;
  update bellhop.dependency d set met = false, counted = false where d.job = r.last and d.needs = step_again.job;
  if not found then
    return;
  end if;
  update bellhop.run x set state = 'running', ended_at = null, reason = null where x.id = r.id and x.state in ('succeeded', 'failed');
  if exists (select from bellhop.jobqueue j where j.id = r.last and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')) then
    perform bellhop.retry(r.last);
  else
    perform from bellhop.jobqueue j where j.id = r.last for no key update;
    perform bellhop.resolve(array[r.last], false);
    perform pg_notify('bellhop_due', '');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.stop_instances(name text, now boolean, said timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
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

CREATE OR REPLACE FUNCTION bellhop.submit(type text, args text DEFAULT NULL::text, msq text DEFAULT NULL::text, repeat text DEFAULT NULL::text, run_on text DEFAULT NULL::text, key text DEFAULT NULL::text, priority integer DEFAULT 0, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, held boolean DEFAULT false, vars jsonb DEFAULT NULL::jsonb, locks text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, on_failure text DEFAULT 'fail'::text, traceparent text DEFAULT NULL::text, after bigint[] DEFAULT NULL::bigint[], after_keys text[] DEFAULT NULL::text[], wanted text[] DEFAULT '{succeeded}'::text[], once text DEFAULT 'ever'::text, per interval DEFAULT NULL::interval, replace boolean DEFAULT false, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  new_id bigint;
  old    bellhop.jobqueue;
  differ text[] := '{}';
  needs  bigint[] := '{}';
  names  text[];
begin
  if submit.once is null or submit.once not in ('ever', 'open', 'waiting') then
    raise check_violation using constraint = 'submit_once', message = format('once is %L', submit.once), hint = 'It is ever, open or waiting.';
  elsif submit.key is null and (submit.once <> 'ever' or submit.per is not null or submit.replace) then
    raise check_violation using constraint = 'submit_once', message = 'once, per and replace are about a key, and there is none', hint = 'Name one: key => ''nightly''.';
  elsif submit.per <= interval '0' or extract(month from submit.per) <> 0 or extract(year from submit.per) <> 0 then
    raise check_violation using constraint = 'submit_once', message = format('per is %s', submit.per), hint = 'It is so many days, hours, minutes or seconds, such as 1 day.';
  end if;
  if submit.replace and submit.once = 'ever' then
    submit.once := 'waiting';
  end if;
  if submit.per is not null then
    submit.key := submit.key || to_char(date_bin(submit.per, clock_timestamp(), timestamptz '2001-01-01 00:00:00+00') at time zone 'UTC', '@YYYY-MM-DD"T"HH24:MI:SS"Z"');
  end if;
  if submit.priority not between -20 and 19 then
    raise check_violation using constraint = 'jobqueue_priority_range', message = format('priority %s is out of range', submit.priority), hint = 'Priorities are -20 (first) to 19 (last); the default is 0.';
  end if;
  if submit.priority_name is not null then
    submit.priority := bellhop.priority_of(submit.priority_name);
  end if;
  loop
    insert into bellhop.jobqueue as j (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,
                                       max_attempts, timeout, on_failure, traceparent, own_attempts, not_after)
    values (submit.type, submit.args, submit.msq, submit.repeat, submit.run_on, submit.key, submit.priority, submit.priority_name,
            submit.run_at, submit.held, submit.vars, submit.locks, submit.reasons, coalesce(submit.max_attempts, 1), submit.timeout,
            submit.on_failure, coalesce(submit.traceparent, nullif(current_setting('bellhop.traceparent', true), '')),
            case when submit.max_attempts is not null then true end, submit.not_after)
    on conflict (key) where j.key is not null do nothing
    returning j.id into new_id;
    exit when new_id is not null or submit.once = 'ever';
    -- The lock settles the race with a claim, an outcome, and others who submit.
    select * into old from bellhop.jobqueue j where j.key = submit.key collate "default" for update;
    if found then
      exit when not (bellhop.owns(old.submitted_by) or bellhop.is_operator()); -- refused below
      if old.state in ('held', 'blocked', 'scheduled', 'ready') or submit.once = 'open' and old.state in ('assigned', 'running') then
        if submit.replace and old.state not in ('assigned', 'running') then
          perform bellhop.submit_replace(old, submit.type, submit.args, submit.msq, submit.repeat, submit.vars, submit.priority::smallint,
                                         submit.priority_name, submit.run_at, submit.max_attempts, submit.timeout);
        end if;
        return old.id;
      end if;
      update bellhop.jobqueue j set key = left(j.key, 970) || '#' || j.id where j.id = old.id;
    end if;
  end loop;
  if submit.after is not null or submit.after_keys is not null then
    needs := array(select distinct x.id from (select unnest(submit.after) as id union all
                     select j.id from bellhop.jobqueue j where j.key = any (submit.after_keys collate "default")
                        and (bellhop.may_change(j.submitted_by) or bellhop.is_reader())) x where x.id is not null);
    names := array(select n from unnest(submit.after_keys) n where not exists (select from bellhop.jobqueue j where j.key = n collate "default"
                        and (bellhop.may_change(j.submitted_by) or bellhop.is_reader())));
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

  -- The values in the argument's own words are compared as the columns are, whatever collation the caller gave them.
  select * into strict old from bellhop.jobqueue j where j.key = submit.key collate "default";
  -- Of another's job it is not even said whether the content equals: that would be a way to guess it. Whose a job from before
  -- that was kept is, nobody knows: its id is given to who has the same content, as it was.
  if not (bellhop.owns(old.submitted_by) or bellhop.is_operator() or old.submitted_by is null) then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by a job that others have submitted', submit.key),
      hint = 'Submit with another key, or as the role that has submitted it (set role): a key belongs to its submitter, and to members of that role.';
  end if;
  if old.type          is distinct from submit.type collate "default"          then differ := differ || format('type %L, not %L', old.type, submit.type); end if;
  if old.args          is distinct from submit.args collate "default"          then differ := differ || format('args %L, not %L', old.args, submit.args); end if;
  if old.msq           is distinct from submit.msq collate "default"           then differ := differ || format('msq %L, not %L', old.msq, submit.msq); end if;
  if old.repeat        is distinct from submit.repeat collate "default"        then differ := differ || format('repeat %L, not %L', old.repeat, submit.repeat); end if;
  if old.run_on        is distinct from submit.run_on collate "default"        then differ := differ || format('run_on %L, not %L', old.run_on, submit.run_on); end if;
  if old.priority      is distinct from submit.priority      then differ := differ || format('priority %s, not %s', old.priority, submit.priority); end if;
  if old.vars          is distinct from submit.vars          then differ := differ || format('vars %s, not %s', old.vars, submit.vars); end if;
  if nullif(old.locks, '{}') is distinct from nullif(submit.locks, '{}') collate "default"         then differ := differ || format('locks %s, not %s', old.locks, submit.locks); end if;
  if old.on_failure    is distinct from submit.on_failure collate "default"    then differ := differ || format('on_failure %L, not %L', old.on_failure, submit.on_failure); end if;
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
  if differ <> '{}' and not (bellhop.owns(old.submitted_by) or bellhop.is_operator()) then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by a job with other content', submit.key), hint = 'Submit with another key.';
  elsif differ <> '{}' then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  return old.id;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.submit_replace(old bellhop.jobqueue, type text, args text, msq text, repeat text, vars jsonb, priority smallint, priority_name text, run_at timestamp with time zone, max_attempts integer, timeout interval)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if old.type is distinct from submit_replace.type collate "default" then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is that of job %s, which is of type %L, not %L', old.key, old.id, old.type, submit_replace.type),
      hint = 'A job that waits is replaced by one of the same type.';
  end if;
  update bellhop.jobqueue j
     set args = submit_replace.args, msq = submit_replace.msq, repeat = submit_replace.repeat, vars = submit_replace.vars,
         priority = submit_replace.priority, priority_name = submit_replace.priority_name, timeout = submit_replace.timeout,
         max_attempts = coalesce(submit_replace.max_attempts, 1), own_attempts = case when submit_replace.max_attempts is not null then true end,
         run_at = case when submit_replace.run_at > clock_timestamp() then submit_replace.run_at end,
         state = case when j.held then 'held' when j.unmet is not null then j.state
                      when submit_replace.run_at > clock_timestamp() then 'scheduled' else 'ready' end,
         waiting_for = case when j.unmet is not null then j.waiting_for end
   where j.id = old.id;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.take_attached(id bigint, OUT taken integer, OUT ended integer)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select 0, 0 $function$;

CREATE OR REPLACE FUNCTION bellhop.take_events(most integer, safely boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  e record;
  n integer := 0;
begin
  for e in
    select v.workflow, v.event, v.at, v.parameters, w as whole
      from bellhop.event v join bellhop.workflow w on w.name = v.workflow
     where v.run is null
     order by v.at limit most
       for update of v, w skip locked
  loop
    update bellhop.event v set run = bellhop.make_run_or_say(e.whole, e.event, e.at, e.parameters, true, safely)
     where v.workflow = e.workflow and v.event = e.event;
    update bellhop.sensor s set fired_at = clock_timestamp() where s.workflow = e.workflow;
    n := n + 1;
  end loop;
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_failed(id bigint, why text, login boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if exists (select from bellhop.attachment x where x.id = turn_failed.id and x.detached_at is not null)
     and not exists (select from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
                      where x.attachment = turn_failed.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')) then
    perform bellhop.forget_attachment(turn_failed.id);
    return;
  end if;
  update bellhop.attachment x set state = 'broken', trouble = left(why, 1000), state_since = clock_timestamp()
   where x.id = turn_failed.id and (x.state, x.trouble) is distinct from ('broken', left(why, 1000))
     and (not login or x.state <> 'ok' or x.state_since < clock_timestamp() - interval '10 s'
          or (select count(*) from bellhop.instance i where i.state = 'live') < 2);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_open(id bigint)
 RETURNS TABLE(done jsonb, n integer, busy text[])
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
BEGIN ATOMIC
 SELECT o.done,
     o.n,
     o.busy
    FROM bellhop.turn_open_in(SESSION_USER, turn_open.id) o(done, n, busy);
END;

CREATE OR REPLACE FUNCTION bellhop.turn_open_in(login name, id bigint)
 RETURNS TABLE(done jsonb, n integer, busy text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  a        bellhop.attachment;
  why      text;
  stranger name;
begin
  select * into a from bellhop.attachment x where x.id = turn_open_in.id for update skip locked;
  if not found then
    return;
  end if;
  if a.detached_at is not null and not exists (select from bellhop.attached x where x.attachment = a.id and x.live) then
    perform bellhop.forget_attachment(a.id); -- what ran as it was detached is over
    return;
  end if;
  why := bellhop.turn_trouble(a.id);
  if why is not null then
    raise exception using errcode = 'BH001', message = why;
  end if;
  if not bellhop.turns_apart(login) then
    stranger := bellhop.turn_stranger(a.id, login);
    if stranger is not null then
      raise exception using errcode = 'BH002',
        message = format('code of %s would run in a session of %s, which may do more: that takes a login that may do nothing else', stranger, login),
        hint = 'bellhop doctor';
    end if;
  elsif not has_function_privilege(login, format('bellhop_attached.%I(jsonb, int4, text[])', a.turn), 'execute') then
    raise exception using errcode = 'BH001', message = format('%s may not call its function, which an earlier version has made', login),
      hint = format('As %s: bellhop attach %s; or, as a superuser: bellhop install roles', a.attached_by, a.rel);
  end if;
  perform set_config('lock_timeout', '2s', true); -- somebody alters the table: it is not waited for
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'state', coalesce(j.state, 'cancelled'), 'exit', j.exit_code))
                    filter (where o.over and not o.later), '[]'),
         a.pool - count(*) filter (where not o.over),
         coalesce(array_agg(x.key) filter (where not o.over or o.later), '{}')
    into done, n, busy
    from bellhop.attached x
    left join bellhop.jobqueue j on j.id = x.job
    left join bellhop.set_aside s on s.attachment = x.attachment and s.digest = x.digest and s.outcome
   cross join lateral (select j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'), coalesce(s.again_at > now(), false)) o (over, later)
   where x.attachment = a.id and x.live;
  if a.detached_at is not null or (select count(*) from bellhop.set_aside s where s.attachment = a.id and s.again_at > now()) >= 1000 then
    n := 0;
  end if;
  if n > 0 then
    busy := busy || array(select s.key from bellhop.set_aside s where s.attachment = a.id and s.again_at > now() and not s.outcome);
    -- The same table was attached before, and runs of then are not over.
    busy := busy || array(select x.key from bellhop.attachment b join bellhop.attached x on x.attachment = b.id and x.live
                           where b.rel = a.rel and b.dispatch_column = a.dispatch_column and b.detached_at is not null);
    if exists (select from bellhop.attachment b join bellhop.attached x on x.attachment = b.id and x.live
                where b.rel = a.rel and b.dispatch_column = a.dispatch_column and b.detached_at is not null and b.key_columns <> a.key_columns) then
      n := 0; -- their keys tell nothing about ours
    end if;
  end if;
  if n <= 0 and done = '[]' then
    return;
  end if;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_record(id bigint, whats text[], keys text[], lines text[], rows_ text[], OUT taken integer, OUT ended integer, OUT aside integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  a        bellhop.attachment;
  running  integer;
  mark     bytea;
  known    bigint;
  was      bellhop.jobqueue;
  again    boolean := false;
begin
  ended := 0;
  aside := 0;
  select * into a from bellhop.attachment x where x.id = turn_record.id for update;
  if not found then
    raise undefined_object using message = 'it is not attached';
  end if;
  select count(*) filter (where w = 'take') into taken from unnest(whats) w;
  select count(*) into running
    from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  if a.detached_at is not null and taken > 0 or taken > 0 and taken + running > a.pool
     or (select count(distinct k) < taken or count(k) < taken from unnest(whats, keys) as t (w, k) where w = 'take') then
    raise data_exception using message = 'its function gave rows that it was not asked for';
  end if;

  for i in 1 .. coalesce(cardinality(whats), 0) loop
    continue when keys[i] is null;
    mark := sha256(convert_to(keys[i], 'UTF8'));
    if whats[i] = 'done' or whats[i] = 'refused' and a.detached_at is not null then
      update bellhop.attached x set live = false
       where x.attachment = a.id and x.digest = mark and x.live
         and not exists (select from bellhop.jobqueue j where j.id = x.job and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'));
      if found then
        ended := ended + 1;
        delete from bellhop.set_aside s where s.attachment = a.id and s.digest = mark and s.outcome;
      end if;
      continue;
    elsif whats[i] in ('aside', 'refused') then
      aside := aside + 1;
      insert into bellhop.set_aside as s (attachment, digest, key, reason, again_at, outcome)
      values (a.id, mark, keys[i], left(coalesce(rows_[i], '?'), 500), now() + interval '5 s', whats[i] = 'refused')
      on conflict (attachment, digest) do update
         set reason = excluded.reason, outcome = excluded.outcome, times = s.times + 1,
             again_at = now() + least(interval '5 s' * 2 ^ least(s.times, 10), interval '5 min');
      continue;
    elsif whats[i] is distinct from 'take' then
      continue;
    end if;
    known := null;
    select x.job into known from bellhop.attached x where x.attachment = a.id and x.digest = mark;
    select * into was from bellhop.jobqueue j where j.id = known for update;
    if found and was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
      raise data_exception using message = 'its function gave rows that it was not asked for';
    elsif found then
      if was.attempt > 0 and was.started_at is not null then
        insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes, spawned_at)
        select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
               was.exit_code, was.error, was.successes, was.spawned_at
         where not exists (select from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
      end if;
      update bellhop.jobqueue j
         set state = 'ready', type = coalesce(a.type, 'attachment'), args = coalesce(lines[i], translate(keys[i], e'\n\r', '  ')),
             held = false, run_at = null, max_attempts = j.attempt + 1,
             ended_at = null, exit_code = null, error = null, reason = null, waiting_for = null, successes = null, instance = null, host = null, child = null,
             deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null
       where j.id = known;
      again := true;
    else
      known := null;
      -- A key that somebody else's job has is no reason not to run.
      for try in 1 .. 3 loop
        insert into bellhop.jobqueue as j (type, args, submitted_by, key)
        values (coalesce(a.type, 'attachment'), coalesce(lines[i], translate(keys[i], e'\n\r', '  ')), a.attached_by,
                case try when 1 then bellhop.row_job_key(a.name, keys[i]) when 2 then bellhop.row_job_key(a.name, keys[i]) || '@' || a.id end)
        on conflict (key) where j.key is not null do nothing
        returning j.id into known;
        exit when known is not null;
      end loop;
    end if;
    insert into bellhop.attached as x (attachment, digest, key, job, live, row_text) values (a.id, mark, keys[i], known, true, rows_[i])
    on conflict (attachment, digest) do update set job = excluded.job, live = true, row_text = excluded.row_text;
  end loop;

  -- Rows that were set aside, had their turn again and did not fail, or that are gone.
  if exists (select from bellhop.set_aside s where s.attachment = a.id) then
    delete from bellhop.set_aside s
     where s.attachment = a.id and not s.outcome
       and (s.digest in (select sha256(convert_to(k, 'UTF8')) from unnest(whats, keys) t (w, k) where w = 'take')
            or s.again_at <= now() and taken + running < a.pool);
  end if;
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
 LANGUAGE sql
BEGIN ATOMIC
 SELECT t.what,
     t.key,
     t.line,
     t.row_text
    FROM bellhop.turn_under(current_setting('search_path'::text), turn_rows.attachment, turn_rows.done, turn_rows.n, turn_rows.busy) t(what, key, line, row_text);
END;

CREATE OR REPLACE FUNCTION bellhop.turn_statements(attachment bigint)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_stranger(attachment bigint, login name)
 RETURNS name
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select r.rolname
    from (select f.proowner as owner from bellhop.attachment a join pg_proc f on f.proname = a.turn and f.pronamespace = 'bellhop_attached'::regnamespace
           where a.id = turn_stranger.attachment
          union
          select c.relowner from bellhop.attachment a
           cross join lateral (select a.rel::oid union select p.relid::oid from pg_partition_tree(a.rel) p) p (rel)
            join pg_class c on c.oid = p.rel
           where a.id = turn_stranger.attachment) o
    join pg_roles r on r.oid = o.owner
    join pg_roles l on l.rolname = turn_stranger.login
   where not r.rolsuper and (l.rolsuper or not pg_has_role(r.oid, l.oid, 'usage'))
   order by r.rolname limit 1
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_trouble(attachment bigint)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  a bellhop.attachment;
  p pg_proc;
begin
  select x.id, x.rel, x.turn, x.attached_by into a.id, a.rel, a.turn, a.attached_by from bellhop.attachment x where x.id = turn_trouble.attachment;
  select f.* into p from pg_proc f
   where f.pronamespace = 'bellhop_attached'::regnamespace and f.proname = a.turn
     and f.proargtypes = format('%s %s %s', 'pg_catalog.jsonb'::regtype::oid, 'int4'::regtype::oid, 'pg_catalog.text[]'::regtype::oid)::oidvector;
  if not exists (select from pg_class c where c.oid = a.rel::oid) then
    return 'its table was dropped (Detach it: bellhop detach)';
  elsif p.oid is null then
    return 'it has no function: that was dropped, or nothing has attached the table (Detach it, and attach it anew)';
  elsif not p.prosecdef then
    return 'its function was altered, and has not the rights of its owner any more (Detach it, and attach it anew)';
  elsif pg_get_userbyid(p.proowner) <> a.attached_by and exists (select from pg_roles r where r.rolname = a.attached_by) then
    return format('its function belongs to %s, and not to %s who attached it (Detach it, and attach it anew)', pg_get_userbyid(p.proowner), a.attached_by);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.turn_under(theirs text, attachment bigint, done jsonb, n integer, busy text[])
 RETURNS TABLE(what text, key text, line text, row_text text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres'
 SET bytea_output TO 'hex'
 SET extra_float_digits TO '1'
 SET lc_monetary TO 'C'
 SET quote_all_identifiers TO 'off'
AS $function$
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
  bad      text[] := '{}';  -- keys of rows that let themselves not be changed
  why      text[] := '{}';
  lows     integer[];       -- parts of tids that are still to be changed
  highs    integer[];
  low      integer;
  high     integer;
  before   integer;
  one      text;
begin
  select * into a from bellhop.attachment x where x.id = turn_under.attachment;
  if not exists (select from pg_class c where c.oid = a.rel::oid) then
    raise undefined_table using message = 'its table was dropped', hint = format('bellhop detach %s', a.name);
  end if;
  -- Rows of children by inheritance are not told apart by the key, and ring no bell: they are the children's own.
  tab := case (select c.relkind from pg_class c where c.oid = a.rel::oid) when 'r' then 'only ' else '' end || a.rel::text;
  dispatch := bellhop.column_of(a.rel, a.dispatch_column, 'dispatch');
  status := case when a.status_column is not null then bellhop.column_of(a.rel, a.status_column, 'status') end;
  exit_ := case when a.exit_column is not null then bellhop.column_of(a.rel, a.exit_column, 'exit') end;
  select bellhop.dispatch_value(c.atttypid) into value from pg_attribute c where c.attrelid = a.rel and c.attnum = a.dispatch_column;
  if value is null then
    raise datatype_mismatch using message = 'its dispatch column has a type now that it cannot have';
  end if;
  select * into ky from bellhop.attached_key(a.rel, a.key_columns);
  -- Whoever alters the table, or makes an index on it, is told from a row that cannot be changed.
  execute format('lock table %s in row exclusive mode', tab);

  -- 1. What became of rows.
  if jsonb_array_length(done) > 0 and (status is not null or exit_ is not null) then
    find := format('select array_agg(x.c), array_agg(x.o), array_agg(x.key), array_agg(x.state), array_agg(x.exit) from (
                      select t.ctid as c, t.tableoid as o, d.key, d.state, d.exit
                        from pg_catalog.jsonb_to_recordset($1) as d (key pg_catalog.text, state pg_catalog.text, exit pg_catalog.int4)
                       %s join %s t on %s for update of t skip locked) x', ky.parsed, tab, ky.matches);
    perform set_config('search_path', theirs, true);
    begin
      execute find into tids, tabs, found_, states, exits using done;
    exception when data_exception then -- a key that is no key any more: its column has another type now
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
        set constraints all immediate; -- here it can be told which row is at fault
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
    -- A row that somebody has in hand: its outcome comes first, its next run after that.
    busy := busy || array(select d.key from jsonb_to_recordset(done) as d (key text) where d.key <> all (written));
  else
    return query select 'done'::text, d.key, null::text, null::text from jsonb_to_recordset(done) as d (key text);
  end if;

  -- 2. Rows to run.
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
             format('%L || pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(t.%I::pg_catalog.text, e''\\'', e''\\\\''), ''"'', e''\\"''), e''\n'', e''\\n''), e''\r'', e''\\r'') || ''"''',
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.turns_apart(login name)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select not exists (
    select from pg_roles r
     where (r.rolname = turns_apart.login or r.rolname = 'bellhop_attach')
       and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls
            or exists (select from pg_roles g where g.oid <> r.oid and g.rolname <> 'bellhop_attach' and pg_has_role(r.oid, g.oid, 'member'))
            -- What code of others has left lying about under the role that is there for it, is nothing worth having.
            or r.rolname <> 'bellhop_attach' and exists (
                 select from pg_shdepend d
                  where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.deptype = 'o'
                    and (d.dbid = 0 or d.dbid = (select b.oid from pg_database b where b.datname = current_database())))))
$function$;

CREATE OR REPLACE FUNCTION bellhop.unassigned()
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with w as materialized (
    select x.instance, count(*) as n from bellhop.workflow x where x.active group by x.instance
  ), i as materialized (
    select y.id, coalesce(w.n, 0) as n from bellhop.instance y left join w on w.instance = y.id
     where y.state = 'live' and bellhop.starts_workflows(y.id)
  )
  select exists (select from w where w.instance is null or not exists (select from i where i.id = w.instance)) and exists (select from i)
      or exists (select from i where i.n > (select min(m.n) from i m) + 1
                    and exists (select from bellhop.workflow x
                                 where x.active and x.instance = i.id
                                   and not exists (select from bellhop.run r where r.workflow = x.name and r.state in ('queued', 'running'))))
$function$;

CREATE OR REPLACE FUNCTION bellhop.unmet_because(needs bigint, OUT why text, OUT root bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
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

CREATE OR REPLACE FUNCTION bellhop.wait(id bigint, timeout interval DEFAULT NULL::interval, OUT state text, OUT exit_code integer, OUT result jsonb, OUT error text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  began timestamptz := clock_timestamp();
  spent interval;
  pause interval := interval '3 ms';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise feature_not_supported using message = format('in a transaction that is %s nothing of what others do is seen, and nothing could be waited for', current_setting('transaction_isolation')),
      hint = 'Wait outside of it.';
  elsif exists (select from bellhop.jobqueue j where j.id = wait.id and j.txid = pg_current_xact_id_if_assigned()) then
    raise object_not_in_prerequisite_state using message = format('job %s does not start before this transaction commits', wait.id),
      hint = 'Commit, then wait.';
  end if;
  loop
    select j.state, j.exit_code, j.result, j.error into state, exit_code, result, error from bellhop.job j where j.id = wait.id;
    spent := clock_timestamp() - began;
    exit when state is null or state in ('succeeded', 'failed', 'cancelled', 'quarantined') or spent >= wait.timeout;
    pause := least(pause * 1.2, case when spent < interval '30 s' then interval '15 ms' when spent < interval '10 min' then interval '100 ms' else interval '500 ms' end);
    perform pg_sleep_for(least(pause, wait.timeout - spent));
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.wait_for_gate(key bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform pg_advisory_lock(key); -- the session's: it outlives this statement
  return true;
exception when lock_not_available or query_canceled or deadlock_detected then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.waited_for(most integer)
 RETURNS TABLE(behind text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with recursive l as (
    (select coalesce(j.behind, '') as behind, 1 as n from bellhop.jobqueue j
      where coalesce(j.behind, '') > '' and j.state = 'ready' and not j.held and j.locks is not null
      order by coalesce(j.behind, '') limit 1)
    union all
    select (select coalesce(j.behind, '') from bellhop.jobqueue j
             where coalesce(j.behind, '') > l.behind and j.state = 'ready' and not j.held and j.locks is not null
             order by coalesce(j.behind, '') limit 1), l.n + 1
      from l where l.behind is not null and l.n < most
  )
  select l.behind from l where l.behind is not null
$function$;

CREATE OR REPLACE FUNCTION bellhop.weigh(jobs bigint[], sure boolean, OUT ready integer, OUT failed bigint[])
 RETURNS record
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$select r.ready, r.failed from bellhop.resolve(jobs, sure) r$function$;

CREATE OR REPLACE FUNCTION bellhop.why_waiting(type text, run_on text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select split_part(h.cause, '/', 1) || coalesce(': ' || h.detail, '') from bellhop.hindrance(why_waiting.type, why_waiting.run_on) h
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_apply(definition jsonb, version integer DEFAULT NULL::integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  faults text[] := bellhop.workflow_faults(workflow_apply.definition);
  called text := workflow_apply.definition ->> 'workflow';
  kept   jsonb := workflow_apply.definition - 'workflow' - 'active';
  live   boolean := coalesce((workflow_apply.definition ->> 'active')::boolean, true);
  o      bellhop.workflow;
begin
  perform bellhop.refuse_but_operators('change workflows');
  if faults <> '{}' then
    raise check_violation using message = 'this is no definition of a workflow: ' || array_to_string(faults, '; '),
      hint = 'bellhop workflow apply FILE   says where.';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('bellhop.workflow ' || called, 0)); -- of one that is not there yet, too
  select * into o from bellhop.workflow w where w.name = called for update;
  if workflow_apply.version is not null and workflow_apply.version <> coalesce(o.version, 0) then
    raise object_not_in_prerequisite_state using
      message = case when o.name is null then format('there is no workflow %s', called)
                     else format('workflow %s has version %s, not %s: %s changed it at %s', called, o.version, workflow_apply.version,
                                 o.changed_by, to_char(o.changed_at, 'YYYY-MM-DD HH24:MI:SS')) end,
      hint = format('Look at what was changed: bellhop workflow history %s', called);
  elsif o.definition = kept and o.active = live then
    return o.version;
  end if;
  return bellhop.workflow_write(called, kept, live, case when o.name is null then 'created' when o.definition <> kept then 'changed'
                                                         when live then 'activated' else 'deactivated' end);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_change(name text, what text, version integer DEFAULT NULL::integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  o bellhop.workflow;
begin
  perform bellhop.refuse_but_operators('change workflows');
  select * into o from bellhop.workflow w where w.name = workflow_change.name for update;
  if not found then
    return null;
  elsif workflow_change.version is not null and workflow_change.version <> o.version then
    raise object_not_in_prerequisite_state using
      message = format('workflow %s has version %s, not %s', o.name, o.version, workflow_change.version),
      hint = format('Look at what was changed: bellhop workflow history %s', o.name);
  elsif what not in ('activated', 'deactivated', 'deleted') then
    raise invalid_parameter_value using message = format('a workflow cannot be %L', what), hint = 'activated, deactivated or deleted';
  elsif what = 'deleted' and exists (select from bellhop.run r where r.workflow = o.name and r.state in ('queued', 'running')) then
    raise object_not_in_prerequisite_state using
      message = format('workflow %s has a run that is not over', o.name),
      hint = format('Deactivate it, and wait, or cancel its jobs: bellhop workflow show %s', o.name);
  elsif what <> 'deleted' and o.active = (what = 'activated') then
    return false;
  end if;
  perform bellhop.workflow_write(o.name, o.definition, case what when 'activated' then true when 'deactivated' then false else o.active end, what);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_event(name text, event text, parameters jsonb DEFAULT '{}'::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  w bellhop.workflow;
begin
  select * into w from bellhop.workflow x where x.name = workflow_event.name and x.active;
  if not found then
    return null;
  end if;
  perform bellhop.refuse_parameters(w, workflow_event.parameters);
  insert into bellhop.event (workflow, event, parameters) values (w.name, workflow_event.event, workflow_event.parameters)
  on conflict (workflow, event) do nothing;
  if not found then
    return false;
  end if;
  perform pg_notify('bellhop_due', '');
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_faults(definition jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  faults text[] := '{}';
  s      jsonb;
  n      integer;
begin
  if jsonb_typeof(definition) is distinct from 'object' then
    return array['a definition is a JSON object with "workflow" and "steps"'];
  elsif coalesce(definition ->> 'workflow', '') !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' then
    faults := array_append(faults, 'workflow: a name of letters, digits, . _ and -, 100 at the most');
  end if;
  if coalesce(jsonb_typeof(definition -> 'active'), 'boolean') <> 'boolean' then
    faults := array_append(faults, 'active is neither true nor false');
  end if;
  if coalesce(jsonb_typeof(definition -> 'sensor'), 'object') not in ('object', 'null') then
    faults := array_append(faults, 'sensor is no object');
  elsif bellhop.sensor_kind(definition) = 'unknown' then
    faults := array_append(faults, 'sensor has none of cron, every and workflow');
  end if;
  if coalesce(jsonb_typeof(definition -> 'parameters'), 'object') <> 'object'
     or jsonb_path_exists(definition, 'strict $.parameters.* ? (@.type() != "string")', silent => true) then
    faults := array_append(faults, 'parameters is no object of strings');
  end if;
  if jsonb_typeof(definition -> 'steps') is distinct from 'array' or definition -> 'steps' = '[]' then
    return array_append(faults, 'steps is no list with a step in it');
  end if;
  for s, n in select x, o from jsonb_array_elements(definition -> 'steps') with ordinality y (x, o) loop
    if jsonb_typeof(s) <> 'object' or coalesce(s ->> 'name', '') !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' or coalesce(s ->> 'type', '') = '' then
      faults := array_append(faults, format('the %s. step has no name and type: %s', n, left(s::text, 100)));
      continue;
    end if;
    if s ->> 'type' in ('command', 'dummy') then
      faults := array_append(faults, format('step %s is of type %s, which no agent runs', s ->> 'name', s ->> 'type'));
    end if;
    if coalesce(jsonb_typeof(s -> 'after'), 'array') <> 'array' then
      faults := array_append(faults, format('step %s: after is no list', s ->> 'name'));
    end if;
    if coalesce(s ->> 'on_failure', 'fail') not in ('fail', 'run') then
      faults := array_append(faults, format('step %s: on_failure is neither fail nor run', s ->> 'name'));
    end if;
  end loop;
  -- All at once, and not step by step: there may be 10,000.
  return faults || array(
    with step as materialized (
      select x ->> 'name' as name, case when jsonb_typeof(x -> 'after') = 'array' then x -> 'after' else '[]' end as after, o from jsonb_array_elements(definition -> 'steps') with ordinality y (x, o)
    ), first as materialized (
      select t.name, min(t.o) as o, count(*) as many from step t group by t.name
    )
    select format('there are two steps %s', f.name) from first f where f.many > 1
    union all
    select format('step %s comes after %s, and no step of that name stands before it', t.name, a.name)
      from step t cross join lateral jsonb_array_elements_text(t.after) a (name)
      left join first f on f.name = a.name
     where f.o is null or f.o >= t.o);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_retry(run bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  r    bellhop.run;
  step bigint;
  n    integer := 0;
begin
  perform bellhop.refuse_but_operators('retry runs');
  select * into r from bellhop.run x where x.id = workflow_retry.run;
  if not found then
    return null;
  end if;
  perform from bellhop.workflow w where w.name = r.workflow for update; -- no other run of it begins meanwhile
  select * into r from bellhop.run x where x.id = workflow_retry.run for update;
  if r.state <> 'failed' then
    raise object_not_in_prerequisite_state using message = format('run %s is %s', r.id, r.state),
      hint = 'Only a run that failed can go on; bellhop workflow run ' || r.workflow || '   starts another.';
  elsif exists (select from bellhop.run x where x.workflow = r.workflow and x.state in ('queued', 'running')) then
    raise object_not_in_prerequisite_state using message = format('another run of %s is open', r.workflow),
      hint = format('Wait until it is over: bellhop workflow show %s', r.workflow);
  elsif r.last is null or not exists (select from bellhop.jobqueue j where j.id = r.last) then
    raise object_not_in_prerequisite_state using message = format('the jobs of run %s are not there any more', r.id),
      hint = 'bellhop workflow run ' || r.workflow || '   starts another.';
  end if;
  -- In the order in which they were made: whoever is needed comes first.
  for step in select j.id from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
               where d.job = r.last and j.state in ('failed', 'cancelled', 'quarantined') order by j.id loop
    perform bellhop.retry(step);
    n := n + 1;
  end loop;
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_run(name text, parameters jsonb DEFAULT '{}'::jsonb, steps text[] DEFAULT NULL::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  w       bellhop.workflow;
  unknown text;
begin
  perform bellhop.refuse_but_operators('run workflows');
  select * into w from bellhop.workflow x where x.name = workflow_run.name for update;
  if not found then
    return null;
  end if;
  perform bellhop.refuse_parameters(w, workflow_run.parameters);
  select s into unknown from unnest(workflow_run.steps) s
   where not exists (select from jsonb_array_elements(w.definition -> 'steps') d where d ->> 'name' = s);
  if found or workflow_run.steps = '{}' then
    raise invalid_parameter_value using message = format('workflow %s has no step %s', w.name, coalesce(unknown, 'to run')),
      hint = format('bellhop workflow show %s', w.name);
  end if;
  return bellhop.make_run(w, null, null, bellhop.caller(), workflow_run.parameters, false, workflow_run.steps);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_write(name text, definition jsonb, active boolean, what text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  v integer := 1 + coalesce((select max(p.version) from bellhop.workflow_past p where p.workflow = workflow_write.name), 0);
  o bellhop.workflow;
  k text := bellhop.sensor_kind(workflow_write.definition);
begin
  select * into o from bellhop.workflow w where w.name = workflow_write.name;
  if what = 'deleted' then
    delete from bellhop.workflow w where w.name = workflow_write.name;
  else
    insert into bellhop.workflow as w (name, project, active, version, definition, changed_by)
    values (workflow_write.name, coalesce(definition ->> 'project', ''), active, v, definition, bellhop.caller())
    on conflict (name) do update
       set project = excluded.project, active = excluded.active, version = excluded.version, definition = excluded.definition,
           changed_at = clock_timestamp(), changed_by = excluded.changed_by;
  end if;
  insert into bellhop.workflow_past (workflow, version, what, active, definition, changed_by)
  values (workflow_write.name, v, what, active, definition, bellhop.caller());
  if what = 'deleted' or not active or k is null then
    delete from bellhop.sensor s where s.workflow = workflow_write.name;
  elsif not coalesce(o.active, false) or o.definition -> 'sensor' is distinct from definition -> 'sensor' then
    insert into bellhop.sensor (workflow, kind, source, next_fire)
    values (workflow_write.name, k, definition -> 'sensor' ->> 'workflow', case when k in ('cron', 'every') then '-infinity'::timestamptz end)
    on conflict (workflow) do update
       set kind = excluded.kind, source = excluded.source, next_fire = excluded.next_fire, problem = null, since = null;
  end if;
  if what = 'deleted' then -- nobody would ever see to them
    delete from bellhop.event e where e.workflow = workflow_write.name and e.run is null;
  end if;
  perform pg_notify('bellhop_due', '');
  return v;
end
$function$;

-- triggers
CREATE TRIGGER _000_refuse_insert BEFORE INSERT ON bellhop.jobqueue FOR EACH ROW WHEN (((new.type = ''::text) OR (strpos(new.args, '
'::text) > 0) OR (strpos(new.args, ''::text) > 0) OR ((new.priority < '-20'::integer) OR (new.priority > 19)) OR (new.max_attempts < 1) OR (new.on_failure <> ALL (ARRAY['fail'::text, 'block'::text, 'run'::text])) OR (new.key = ''::text) OR (length(new.key) > 1000) OR (new.run_on = ''::text) OR (new.timeout <= '00:00:00'::interval) OR (new.msq IS NOT NULL) OR (new.repeat IS NOT NULL) OR (new.priority_name IS NOT NULL) OR (new.locks IS NOT NULL) OR (new.vars IS NOT NULL))) EXECUTE FUNCTION bellhop.refuse();
CREATE TRIGGER _000_refuse_update AFTER UPDATE OF type, args, msq, repeat, priority, priority_name, key, run_on, max_attempts, timeout, on_failure, locks, vars ON bellhop.jobqueue FOR EACH ROW EXECUTE FUNCTION bellhop.refuse();
CREATE TRIGGER _010_locks_came AFTER INSERT OR UPDATE OF locks, reasons ON bellhop.jobqueue FOR EACH ROW WHEN (((new.locks IS NOT NULL) OR ((new.reasons IS NOT NULL) AND (strpos(('|'::text || array_to_string(new.reasons, '|'::text)), '|rate-limit:'::text) > 0)))) EXECUTE FUNCTION bellhop.locks_came();
CREATE TRIGGER _050_command AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.type = ANY (ARRAY['command'::text, 'dummy'::text]))) EXECUTE FUNCTION bellhop.command();
CREATE TRIGGER _100_arrange AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.held OR (new.run_at IS NOT NULL) OR (new.priority_name IS NOT NULL) OR (new.not_after IS NOT NULL))) EXECUTE FUNCTION bellhop.arrange();
CREATE TRIGGER _100_dependency_row BEFORE INSERT ON bellhop.dependency FOR EACH ROW EXECUTE FUNCTION bellhop.dependency_row();
CREATE TRIGGER _200_dependencies_came AFTER INSERT ON bellhop.dependency REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_came();
CREATE TRIGGER _200_dependencies_gone AFTER DELETE ON bellhop.dependency REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_gone();
CREATE TRIGGER _200_place AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.run_on IS NOT NULL)) EXECUTE FUNCTION bellhop.place();
CREATE TRIGGER _300_all_jobs_gone AFTER TRUNCATE ON bellhop.jobqueue FOR EACH STATEMENT EXECUTE FUNCTION bellhop.all_jobs_gone();
CREATE TRIGGER _300_jobs_gone AFTER DELETE ON bellhop.jobqueue REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.jobs_gone();
CREATE TRIGGER _900_ring AFTER INSERT ON bellhop.jobqueue FOR EACH STATEMENT WHEN ((NOT pg_try_advisory_xact_lock_shared('7090192401229115393'::bigint))) EXECUTE FUNCTION bellhop.ring();
