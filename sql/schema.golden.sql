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

table bellhop.engine_job (
  tag text not null,
  job bigint not null,
  fence bigint not null,
  attempt integer not null,
  type text not null,
  engine text not null,
  instance bigint,
  state text not null,
  engine_id text,
  stage text,
  how text,
  exit_code integer,
  reason text,
  said text,
  sent_at timestamp with time zone not null default clock_timestamp(),
  ran_at timestamp with time zone,
  ended_at timestamp with time zone,
  changed_at timestamp with time zone not null default clock_timestamp()
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

table bellhop.history (
  minute timestamp with time zone not null,
  type text not null,
  instance bigint not null,
  taken integer not null,
  succeeded integer not null,
  failed integer not null,
  cancelled integer not null,
  retried integer not null,
  items_done bigint not null,
  items_failed bigint not null,
  wait integer[] not null,
  run integer[] not null
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

table bellhop.housekeeping (
  one boolean not null default true,
  instance bigint,
  until timestamp with time zone,
  begun_at timestamp with time zone,
  ended_at timestamp with time zone,
  deleted bigint not null default 0
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
  policy jsonb,
  tells text[] not null default '{}'::text[],
  watches jsonb,
  reloaded_at timestamp with time zone,
  reload_failed boolean not null default false,
  reload_said text,
  listen text
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
  not_after timestamp with time zone,
  ended_as text
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

table bellhop.lock_scan (
  one boolean not null default true,
  beyond text not null default ''::text
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

table bellhop.notice (
  id bigint not null generated always as identity,
  message uuid not null default gen_random_uuid(),
  run bigint not null,
  workflow text not null,
  project text not null,
  state text not null,
  reason text,
  ended_at timestamp with time zone not null,
  last_success timestamp with time zone,
  channel text not null,
  target text not null,
  needs text not null,
  status text not null default 'waiting'::text,
  tries integer not null default 0,
  at timestamp with time zone not null default clock_timestamp(),
  next_at timestamp with time zone not null default clock_timestamp(),
  until timestamp with time zone not null,
  instance bigint,
  sent_at timestamp with time zone,
  error text
);

table bellhop.notice_rule (
  id bigint not null generated always as identity,
  project text not null default ''::text,
  prefix text not null default ''::text,
  statuses text[] not null default '{failed}'::text[],
  unless_success_within interval,
  mail text[] not null default '{}'::text[],
  webhook text,
  command text[] not null default '{}'::text[],
  changed_at timestamp with time zone not null default clock_timestamp(),
  changed_by text not null,
  active boolean not null default true,
  version integer not null default 1
);

table bellhop.operation (
  id bigint not null generated always as identity,
  verb text not null,
  filter jsonb not null,
  priority smallint,
  state text not null default 'planned'::text,
  plan pg_snapshot not null,
  planned bigint not null,
  by_state jsonb not null,
  skipped jsonb not null,
  samples jsonb not null,
  planned_by text not null,
  planned_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  not_before timestamp with time zone,
  ended_at timestamp with time zone,
  worked_at timestamp with time zone,
  past bigint not null default 0,
  later bigint[] not null default '{}'::bigint[],
  tries integer not null default 0,
  done bigint not null default 0,
  refused bigint not null default 0,
  undone bigint not null default 0,
  error text,
  dependents jsonb not null default '{}'::jsonb,
  actor text
);

table bellhop.operation_job (
  operation bigint not null,
  job bigint not null,
  state text not null,
  held boolean not null,
  priority smallint not null,
  priority_name text,
  ended_at timestamp with time zone
);

table bellhop.operation_part (
  operation bigint not null,
  last bigint not null,
  ids bigint[] not null
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
  last bigint,
  endings integer not null default 0
);

table bellhop.run_end (
  id bigint not null generated always as identity,
  run bigint not null,
  workflow text not null,
  state text not null,
  reason text,
  at timestamp with time zone not null default clock_timestamp()
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
  since timestamp with time zone,
  recent timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  lag bigint,
  held timestamp with time zone
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

table bellhop.sign_in (
  digest bytea not null,
  link boolean not null,
  login text not null,
  made_at timestamp with time zone not null default clock_timestamp(),
  until timestamp with time zone not null
);

table bellhop.sketch (
  what text not null,
  name text not null,
  pairs integer[] not null default '{}'::integer[],
  at timestamp with time zone not null default clock_timestamp()
);

table bellhop.workflow (
  name text not null,
  project text not null default ''::text,
  active boolean not null,
  version integer not null,
  definition jsonb not null,
  instance bigint,
  changed_at timestamp with time zone not null default clock_timestamp(),
  changed_by text not null,
  notifies boolean not null default (definition ? 'notify'::text)
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
  not_after timestamp with time zone,
  ended_as text
);

view bellhop.failed_item (
  job bigint,
  fence bigint,
  item bigint,
  line text,
  tries integer,
  exit_code integer,
  error text,
  at timestamp with time zone
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
  not_after timestamp with time zone,
  ended_as text
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
  submitted_by text,
  priority_name text,
  msq text
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

view bellhop.remote (
  job bigint,
  tag text,
  attempt integer,
  type text,
  engine text,
  engine_id text,
  state text,
  stage text,
  how text,
  exit_code integer,
  reason text,
  said text,
  sent_at timestamp with time zone,
  ran_at timestamp with time zone,
  ended_at timestamp with time zone,
  changed_at timestamp with time zone,
  instance bigint
);

view bellhop.seen_operation (
  id bigint,
  verb text,
  filter jsonb,
  priority smallint,
  state text,
  planned bigint,
  by_state jsonb,
  skipped jsonb,
  samples jsonb,
  planned_by text,
  planned_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  worked_at timestamp with time zone,
  done bigint,
  refused bigint,
  undone bigint,
  error text,
  dependents jsonb,
  actor text
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
  workflow text,
  ended_as text,
  cause text
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
alter table bellhop.engine_job add constraint engine_job_pkey PRIMARY KEY (tag);
alter table bellhop.engine_job add constraint engine_job_state_check CHECK ((state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text, 'killing'::text, 'over'::text])));
alter table bellhop.event add constraint event_event_check CHECK (((event <> ''::text) AND (length(event) <= 200)));
alter table bellhop.event add constraint event_pkey PRIMARY KEY (workflow, event);
alter table bellhop.filter add constraint filter_id_check CHECK ((id ~ '^[A-Za-z0-9._-]{1,100}$'::text));
alter table bellhop.filter add constraint filter_pkey PRIMARY KEY (id);
alter table bellhop.filter add constraint filter_predicates_check CHECK ((jsonb_typeof(predicates) = 'array'::text));
alter table bellhop.filter add constraint filter_priority_check CHECK ((priority >= 0));
alter table bellhop.history add constraint history_pkey PRIMARY KEY (minute, type, instance);
alter table bellhop.host add constraint host_instance_fkey FOREIGN KEY (instance) REFERENCES bellhop.instance(id) ON DELETE CASCADE;
alter table bellhop.host add constraint host_pkey PRIMARY KEY (instance, name);
alter table bellhop.host add constraint host_state_check CHECK ((state = ANY (ARRAY['up'::text, 'connecting'::text, 'down'::text])));
alter table bellhop.housekeeping add constraint housekeeping_one_check CHECK (one);
alter table bellhop.housekeeping add constraint housekeeping_pkey PRIMARY KEY (one);
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
alter table bellhop.lock_scan add constraint lock_scan_one_check CHECK (one);
alter table bellhop.lock_scan add constraint lock_scan_pkey PRIMARY KEY (one);
alter table bellhop.lock_wait add constraint lock_wait_mode_check CHECK ((mode = ANY (ARRAY['exclusive'::text, 'shared'::text])));
alter table bellhop.lock_wait add constraint lock_wait_pkey PRIMARY KEY (level, name, job);
alter table bellhop.log add constraint log_pkey PRIMARY KEY (id);
alter table bellhop.lost_run add constraint lost_run_pkey PRIMARY KEY (job, n);
alter table bellhop.manager_stop add constraint manager_stop_pkey PRIMARY KEY (name);
alter table bellhop.notice add constraint notice_channel_check CHECK ((channel = ANY (ARRAY['mail'::text, 'webhook'::text, 'command'::text])));
alter table bellhop.notice add constraint notice_pkey PRIMARY KEY (id);
alter table bellhop.notice add constraint notice_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'sent'::text, 'given_up'::text])));
alter table bellhop.notice_rule add constraint notice_rule_check CHECK (((mail <> '{}'::text[]) OR (webhook <> ''::text) OR (command <> '{}'::text[])));
alter table bellhop.notice_rule add constraint notice_rule_pkey PRIMARY KEY (id);
alter table bellhop.notice_rule add constraint notice_rule_statuses_check CHECK (((statuses <> '{}'::text[]) AND (statuses <@ '{succeeded,failed,skipped}'::text[])));
alter table bellhop.notice_rule add constraint notice_rule_unless_success_within_check CHECK ((unless_success_within > '00:00:00'::interval));
alter table bellhop.operation add constraint operation_pkey PRIMARY KEY (id);
alter table bellhop.operation add constraint operation_priority_check CHECK (((priority >= '-20'::integer) AND (priority <= 19)));
alter table bellhop.operation add constraint operation_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'running'::text, 'stopping'::text, 'stopped'::text, 'done'::text, 'undone'::text])));
alter table bellhop.operation add constraint operation_verb_check CHECK ((verb = ANY (ARRAY['cancel'::text, 'kill'::text, 'retry'::text, 'release'::text, 'hold'::text, 'priority'::text])));
alter table bellhop.operation_job add constraint operation_job_operation_fkey FOREIGN KEY (operation) REFERENCES bellhop.operation(id) ON DELETE CASCADE;
alter table bellhop.operation_job add constraint operation_job_pkey PRIMARY KEY (operation, job);
alter table bellhop.operation_part add constraint operation_part_operation_fkey FOREIGN KEY (operation) REFERENCES bellhop.operation(id) ON DELETE CASCADE;
alter table bellhop.operation_part add constraint operation_part_pkey PRIMARY KEY (operation, last);
alter table bellhop.paused add constraint paused_pkey PRIMARY KEY (type);
alter table bellhop.rjm add constraint rjm_pkey PRIMARY KEY (job);
alter table bellhop.rjm add constraint rjm_state_check CHECK ((state = ANY (ARRAY['done'::text, 'dusting'::text, 'old'::text])));
alter table bellhop.run add constraint run_pkey PRIMARY KEY (id);
alter table bellhop.run add constraint run_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'skipped'::text])));
alter table bellhop.run_end add constraint run_end_pkey PRIMARY KEY (id);
alter table bellhop.schema_script add constraint schema_script_pkey PRIMARY KEY (name);
alter table bellhop.schema_version add constraint schema_version_pkey PRIMARY KEY (version);
alter table bellhop.sensor add constraint sensor_pkey PRIMARY KEY (workflow);
alter table bellhop.set_aside add constraint set_aside_attachment_fkey FOREIGN KEY (attachment) REFERENCES bellhop.attachment(id) ON DELETE CASCADE;
alter table bellhop.set_aside add constraint set_aside_pkey PRIMARY KEY (attachment, digest);
alter table bellhop.sign_in add constraint sign_in_pkey PRIMARY KEY (digest);
alter table bellhop.sketch add constraint sketch_pkey PRIMARY KEY (what, name);
alter table bellhop.sketch add constraint sketch_what_check CHECK ((what = ANY (ARRAY['took'::text, 'off'::text])));
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
CREATE INDEX engine_job_of ON bellhop.engine_job USING btree (job);
CREATE UNIQUE INDEX engine_job_one ON bellhop.engine_job USING btree (job) WHERE (state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text]));
CREATE INDEX engine_job_open ON bellhop.engine_job USING btree (type, tag) WHERE (state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text, 'killing'::text]));
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
CREATE INDEX notice_open ON bellhop.notice USING btree (next_at) WHERE (status = 'waiting'::text);
CREATE INDEX notice_run ON bellhop.notice USING btree (run);
CREATE INDEX notice_until ON bellhop.notice USING btree (until) WHERE (status = 'waiting'::text);
CREATE INDEX operation_open ON bellhop.operation USING btree (id) WHERE (state = ANY (ARRAY['running'::text, 'stopping'::text]));
CREATE INDEX rjm_dusty ON bellhop.rjm USING btree (job) WHERE (state <> 'old'::text);
CREATE INDEX run_ended ON bellhop.run USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_ended_as ON bellhop.run USING btree (state, ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_of ON bellhop.run USING btree (workflow, id);
CREATE INDEX run_open ON bellhop.run USING btree (workflow, id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX run_success ON bellhop.run USING btree (workflow, ended_at) WHERE (state = 'succeeded'::text);
CREATE INDEX sensor_next ON bellhop.sensor USING btree (next_fire) WHERE (next_fire < 'infinity'::timestamp with time zone);
CREATE INDEX sensor_source ON bellhop.sensor USING btree (source) WHERE (source IS NOT NULL);
CREATE INDEX sensor_watched ON bellhop.sensor USING btree (workflow) WHERE (kind = ANY (ARRAY['notify'::text, 'file'::text, 'kafka'::text]));
CREATE INDEX sign_in_login ON bellhop.sign_in USING btree (login, link, until);
CREATE INDEX workflow_instance ON bellhop.workflow USING btree (instance) WHERE active;

CREATE OR REPLACE FUNCTION bellhop.able(sensor jsonb)
 RETURNS bigint[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when bool_and(x.sees) then null else coalesce(array_agg(x.id order by x.id) filter (where x.sees), '{}') end
    from (select i.id, bellhop.sees(i.watches, i.name, sensor) as sees from bellhop.instance i
           where i.state = 'live' and bellhop.starts_workflows(i.id)) x
$function$;

CREATE OR REPLACE FUNCTION bellhop.actor()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT COALESCE(NULLIF(current_setting('bellhop.actor'::text, true), ''::text), (SESSION_USER)::text) AS "coalesce";
END;

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

CREATE OR REPLACE FUNCTION bellhop.archived(ids bigint[], archive text, runs boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if archive <> '' and ids <> '{}' then
    execute pg_catalog.format('insert into %s (job, "row") select a.job, a."row" from bellhop.%I($1) a', archive::regclass,
                              case when runs then 'runs_as_archived' else 'as_archived' end) using ids;
  end if;
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

CREATE OR REPLACE FUNCTION bellhop.as_archived(ids bigint[])
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select j.id, to_jsonb(j) || jsonb_build_object(
           'attempts', (select coalesce(jsonb_agg(to_jsonb(a) order by a.attempt), '[]') from bellhop.attempt_past a where a.job = j.id),
           'log', (select coalesce(jsonb_agg(to_jsonb(l) order by l.id), '[]') from bellhop.log l where l.job = j.id))
    from bellhop.jobqueue j where j.id = any (ids)
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

CREATE OR REPLACE FUNCTION bellhop.batch(type text DEFAULT 'dummy'::text, args text DEFAULT NULL::text, key text DEFAULT NULL::text, jobs bigint[] DEFAULT NULL::bigint[], held boolean DEFAULT false, on_failure text DEFAULT 'run'::text, priority integer DEFAULT 0, vars jsonb DEFAULT NULL::jsonb)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  id bigint;
begin
  id := bellhop.submit(batch.type, batch.args, key => batch.key, held => batch.held, on_failure => batch.on_failure,
                       priority => batch.priority, vars => batch.vars);
  perform bellhop.batch_add(id, batch.jobs);
  return id;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.batch_add(batch bigint, jobs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if batch_add.batch is null or batch_add.jobs = '{}' then
    return;
  end if;
  insert into bellhop.dependency (job, needs)
  select batch_add.batch, n from unnest(batch_add.jobs) n
   where not exists (select from bellhop.dependency d where d.job = batch_add.batch and d.needs = n) order by n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.batch_count(id bigint, OUT jobs bigint, OUT waiting bigint, OUT running bigint, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT quarantined bigint)
 RETURNS record
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select count(n.id), count(*) filter (where n.state in ('held', 'blocked', 'scheduled', 'ready')),
         count(*) filter (where n.state in ('assigned', 'running')), count(*) filter (where n.state = 'succeeded'),
         count(*) filter (where n.state = 'failed'), count(*) filter (where n.state = 'cancelled'),
         count(*) filter (where n.state = 'quarantined')
    from bellhop.job b
    left join bellhop.dependency d on d.job = b.id
    left join bellhop.jobqueue n on n.id = d.needs
   where b.id = batch_count.id
   group by b.id
$function$;

CREATE OR REPLACE FUNCTION bellhop.below(ids bigint[], most integer)
 RETURNS TABLE(id bigint, key text, type text, state text, becomes text, among bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with recursive fall (id, ends) as (
    select j.id, 'cancelled' from bellhop.job j
     where j.id = any (below.ids) and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')
    union
    select j.id, 'failed'
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met and f.ends <> all (d.wanted)
      join bellhop.job j on j.id = d.job and j.state in ('blocked', 'scheduled', 'ready') and not j.held and j.on_failure = 'fail'
  ), told as (
    select distinct on (j.id) j.id, j.key, j.type, j.state,
           case when j.held then 'held' when j.on_failure = 'run' or f.ends = any (d.wanted) then 'run' when j.on_failure = 'block' then 'blocked' else 'failed' end as becomes
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met
      join bellhop.job j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
     where j.id <> all (below.ids)
     order by j.id, (j.on_failure = 'run' or f.ends = any (d.wanted))
  )
  select t.id, t.key, t.type, t.state, t.becomes, count(*) over () from told t order by t.id limit below.most
$function$;

CREATE OR REPLACE FUNCTION bellhop.blockers(id bigint)
 RETURNS TABLE(n integer, job bigint, type text, state text, since timestamp with time zone, why text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  link bellhop.jobqueue;
  seen bigint[] := array[id];
begin
  n := 0;
  select q.* into link from bellhop.jobqueue q where q.id = blockers.id;
  while found and n < 50 loop
    job := null;
    why := null;
    if link.state in ('blocked', 'ready', 'held', 'scheduled') then
      select d.needs into job
        from bellhop.dependency d join bellhop.jobqueue q on q.id = d.needs
       where d.job = link.id and not d.met and q.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')
       order by d.needs limit 1;
    end if;
    if job is null and link.state = 'ready' and link.locks is not null then
      select h.job, h.held into job, why
        from bellhop.lock_holders(bellhop.wanted_locks(link.locks, link.waiting_for, link.behind)) h
       where h.job <> link.id order by h.job, h.held limit 1;
      if job is null then
        job := substring(link.waiting_for from '^lock_reserved: .*, and job ([0-9]+), which has waited longer, comes first with ')::bigint;
        why := substring(link.waiting_for from '^lock_reserved: .*, comes first with (.*)$');
      end if;
    elsif job is null and link.state in ('assigned', 'running') then
      select h.job, h.held into job, why
        from bellhop.lock_holders(array(select case w.level when 'big' then 'big' else format('%s:%s=%s', w.level, w.name, w.mode) end
                                          from bellhop.lock_waiting w where w.job = link.id)) h
       where h.job <> link.id order by h.job, h.held limit 1;
    end if;
    exit when job is null or job = any (seen);
    seen := seen || job;
    select q.* into link from bellhop.jobqueue q where q.id = job;
    exit when not found;
    n := n + 1;
    type := link.type;
    state := link.state;
    since := case when link.state in ('assigned', 'running') then coalesce(link.attempt_at, link.started_at) else link.created_at end;
    return next;
  end loop;
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
  if of_run is not null and was in ('blocked', 'held') then
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
      'No running instance has an agent of type {type}.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
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
    ('on_engine', 'running', false, 'it runs on an engine: under which tag, and what the engine says of it',
      'Its work is on engine {engine}, tag {tag}{id_there}: {stage}.', 'bellhop show {id}'),
    ('on_engine/left', 'waiting', false, '',
      'Its work is on engine {engine}, tag {tag}{id_there}, and nobody watches it: whoever takes it finds it again, and does not submit it twice.', 'bellhop show {id}'),
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
    ('no_data', 'ended', false, 'it is done, and its agent said that there was no work; who needs it goes on',
      'It is done, and there was nothing to do: it said no data. Who needs it goes on.', 'bellhop logs {id}'),
    ('skipped', 'ended', false, 'it is done, and its agent said that nothing of it is wanted this time: who needs it to have succeeded is skipped, too',
      'It is done, and said skipped: who needs it to have succeeded is passed over.', 'bellhop logs {id}'),
    ('skipped/passed_over', 'ended', false, '',
      'It never ran: job {root}, which it needs, or which one of those needs, said skipped. That is no failure.', 'bellhop explain {root}'),
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
    ('engine_lost', 'ended', false, 'it ran on an engine, which does not know it any more; nobody knows how it ended',
      'The engine where it ran does not know it any more: {error}', 'bellhop show {id}'),
    ('submission_timeout', 'ended', false, 'an engine has not taken it within `submit_timeout`, or has taken it and never shown it',
      'It has not come to run on its engine: {error}', 'bellhop logs -e {id}'),
    ('engine_refused', 'ended', false, 'submit said that another try would give the same (exit code 65)',
      'Its engine refuses it: {error}', 'bellhop logs -e {id}'),
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

    -- What starts a workflow, and what keeps it from that (bellhop.explain_workflow).
    ('inactive', 'workflow', true, 'a workflow is not active',
      'It is not active: only a hand starts it.', 'bellhop workflow activate {name}'),
    ('inactive/run', 'waiting', true, '',
      'Run {run} of workflow {name} was queued when that was deactivated: it begins when it is active again.', 'bellhop workflow activate {name}'),
    ('no_sensor', 'workflow', true, 'its definition names nothing that starts it',
      'It has no sensor: only a hand starts it.', 'bellhop workflow run {name}'),
    ('nobody_starts', 'workflow', true, 'no instance that runs could start it',
      'No instance runs, and so nobody starts it.', 'bellhop serve'),
    ('nobody_starts/stopped', 'workflow', true, '',
      'The starting of workflows was stopped on every instance, by {by}{since}. What comes meanwhile is kept.', 'bellhop manager start'),
    ('nobody_starts/unseen', 'workflow', true, '',
      'No instance that runs may watch what its sensor ({kind}) waits for: `sensors` of bellhop.yaml says what each may.', 'bellhop instances'),
    ('unknown_type/step', 'workflow', true, '',
      '{steps} of type {type}, of which no running instance has an agent.{there}', 'add it under agents in bellhop.yaml, then: bellhop reload'),
    ('sensor_fails', 'workflow', false, 'its sensor cannot see, or what it saw came to no run; it tries again by itself',
      'Its sensor ({kind}) has had a problem{since}: {problem}', 'bellhop workflow show {name}'),
    ('next_slot', 'workflow', false, 'when its schedule comes around',
      'Its next slot is at {at}, in {in}.', 'bellhop workflow run {name}'),
    ('awaits_event', 'workflow', false, 'its sensor has seen nothing new',
      'It starts when its sensor ({kind}) sees something new.{last}', 'bellhop workflow run {name}'),
    ('event_waits', 'workflow', false, 'something came, and no run was made of it yet',
      '{n} of its events came{since}, and no runs were made of them yet.', 'bellhop manager status'),
    ('run_open', 'workflow', false, 'a run of it is not over: by sensors one more waits behind it, and others are skipped',
      'Run {run} is {state}{since}: by its sensor one more may wait for it, and what comes besides is skipped.', 'bellhop workflow show --run {run}'),
    ('run_open/inactive', 'workflow', true, '',
      'Run {run} is queued{since}, and begins when the workflow is active again.', 'bellhop workflow activate {name}'),
    ('run_skipped', 'workflow', false, 'its last run was skipped, and why',
      'The last run, {run}{of}, was skipped: {reason}', 'bellhop workflow show --run {run}'),
    ('run_failed', 'workflow', false, 'its last run failed, and why',
      'The last run, {run}{of}, has failed: {reason}', 'bellhop workflow retry {run}'),

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
    ('chain', 'beside', false, 'what it waits for waits for another job itself: one after the other, down to the one that waits for none',
      'It waits for {chain}.', 'bellhop explain {last}'),
    ('step_of', 'beside', false, 'it is a step of a workflow',
      'It is step {step} of run {run} of workflow {workflow}, which is {state}.', 'bellhop workflow show --run {run}'),
    ('ran_on', 'beside', false, 'attempt, host, child, from when to when',
      'Attempt {attempt} of {most}, on {host}{child}, from {from} to {to} ({for}).', 'bellhop show {id}'),
    ('lost', 'beside', false, 'a run of it was lost with its host or instance and given back; it counts as no attempt',
      'Lost: {reason}, given back. That run was on {host}{child}, from {from} to {to} ({for}), and counts as no attempt.{more}', 'bellhop trace {id}'),
    ('last_words', 'beside', false, 'the last lines of stderr, `ERROR` and the scheduler''s notes; for operators',
      e'The last that was said:\n    {words}', 'bellhop logs -e {id}')
  ) as c (cause, of, stuck, means, sentence, next)
$function$;

CREATE OR REPLACE FUNCTION bellhop.chain(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when count(*) > 1 then string_agg(format('job %s (%s), which %s%s', b.job, b.type,
           case b.state when 'running' then 'runs' || bellhop.since(b.since) when 'assigned' then 'has begun' || bellhop.since(b.since) else 'is ' || b.state end,
           coalesce(' and holds ' || case when b.state in ('assigned', 'running') then b.why end, ' and comes first with ' || b.why, '')),
           '; that one waits for ' order by b.n) end
    from bellhop.blockers(chain.id) b
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

CREATE OR REPLACE FUNCTION bellhop.cron_fault(schedule text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  list  text[] := regexp_split_to_array(btrim(schedule, e' \t\n\r'), '\s+');
  f     record;
  part  text;
  one   text;
  span  text;
  v     integer[];
begin
  if schedule ~ '^\s*@' then
    return case when lower(btrim(schedule)) not in ('@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually')
                then format('%s is no schedule: there are @hourly, @daily, @weekly, @monthly and @yearly', to_json(btrim(schedule))) end;
  elsif schedule ~ '^\s*$' or cardinality(list) not in (5, 6) then
    return format('%s has %s fields: it takes 5 (minute hour day month weekday), or 6 with seconds first', to_json(schedule),
                  case when schedule ~ '^\s*$' then 0 else cardinality(list) end);
  end if;
  for f in select x.*, list[x.n - 6 + cardinality(list)] as text from (values
      (1, 'second', 0, 59, '{}'::text[]), (2, 'minute', 0, 59, '{}'), (3, 'hour', 0, 23, '{}'), (4, 'day', 1, 31, '{}'),
      (5, 'month', 1, 12, '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'), (6, 'weekday', 0, 7, '{sun,mon,tue,wed,thu,fri,sat}')
    ) x (n, name, least, top, names) where x.n > 6 - cardinality(list) order by x.n
  loop
    foreach part in array string_to_array(f.text, ',') loop
      if part like '%/%' and substr(part, strpos(part, '/') + 1) !~ '^[+]?0*[1-9][0-9]{0,8}$' then
        return format('%s %s: a step is a number from 1 on, as in */10', f.name, to_json(part));
      end if;
      span := split_part(part, '/', 1);
      continue when span in ('*', '?');
      v := '{}';
      foreach one in array case when span like '%-%' then array[split_part(span, '-', 1), substr(span, strpos(span, '-') + 1)] else array[span] end loop
        v := v || coalesce(f.least + array_position(f.names, lower(one)) - 1,
                           case when one ~ '^0*[0-9]{1,3}$' and one::integer between f.least and f.top then one::integer end);
        if v[cardinality(v)] is null then
          return format('%s %s: it is %s to %s', f.name, to_json(one), f.least, f.top)
            || case when f.names <> '{}' then format(', or %s to %s', upper(f.names[1]), upper(f.names[cardinality(f.names)])) else '' end;
        end if;
      end loop;
      if v[2] < v[1] then
        return format('%s %s: the range ends before it begins', f.name, to_json(part));
      end if;
    end loop;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.definition_keys()
 RETURNS TABLE(part text, n integer, key text, wants text, required boolean, example text)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select k.part, row_number() over ()::integer, k.key, k.wants, k.required, k.example
    from (values
    ('', 'workflow', 'word', true, null), ('', 'project', 'word', false, null), ('', 'active', 'flag', false, null),
    ('', 'sensor', 'part', false, null), ('', 'parameters', 'pairs', false, 'write it like parameters: {DAY: today}'),
    ('', 'steps', 'list', true, 'write it like - {name: fetch, type: sh, args: "…"}'),
    ('', 'notify', 'list', false, 'write it like - {when: [failed], mail: [ops@example.org]}'),
    ('step', 'name', 'word', true, null), ('step', 'type', 'word', true, null), ('step', 'args', 'text', false, null),
    ('step', 'msq', 'text', false, null), ('step', 'after', 'words', false, 'write it like [fetch]'), ('step', 'run_on', 'word', false, null),
    ('step', 'priority', 'whole', false, null), ('step', 'vars', 'pairs', false, 'write it like vars: {USERID: 7}'),
    ('step', 'locks', 'words', false, 'write it like ["customer:7=exclusive"]'), ('step', 'max_attempts', 'count', false, null),
    ('step', 'timeout', 'long', false, null), ('step', 'on_failure', 'word', false, null),
    ('sensor', 'cron', 'word', false, null), ('sensor', 'zone', 'word', false, null), ('sensor', 'catch_up', 'word', false, null),
    ('sensor', 'every', 'long', false, null), ('sensor', 'after_finish', 'flag', false, null), ('sensor', 'at_most', 'count', false, null),
    ('sensor', 'per', 'long', false, null), ('sensor', 'workflow', 'word', false, null),
    ('sensor', 'when', 'words', false, 'write it like [succeeded, failed]'), ('sensor', 'table', 'word', false, null),
    ('sensor', 'event', 'word', false, null), ('sensor', 'notify', 'word', false, null), ('sensor', 'http', 'flag', false, null),
    ('sensor', 'file', 'word', false, null), ('sensor', 'host', 'word', false, null), ('sensor', 'stable', 'long', false, null),
    ('sensor', 'kafka', 'word', false, null), ('sensor', 'topic', 'word', false, null),
    ('sensor', 'match', 'pairs', false, 'write it like match: {kind: upload}'),
    ('notice', 'when', 'words', false, 'write it like [failed]'), ('notice', 'mail', 'words', false, 'write it like [ops@example.org]'),
    ('notice', 'webhook', 'word', false, null), ('notice', 'command', 'words', false, 'write it like [./told.sh]'),
    ('notice', 'unless_success_within', 'long', false, null)) k (part, key, wants, required, example)
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
  grown  bigint[];
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
  -- Who waits already, and now for others that came in this transaction too, has only so many more to wait for: what it waited for
  -- is not counted again, so that thousands can join a batch one by one.
  with more as (
    select c.job, count(*)::integer as n from came c group by c.job having bool_and(c.counted)
  ), counted as (
    update bellhop.jobqueue j set unmet = j.unmet + m.n from more m
     where j.id = m.job and j.unmet is not null and j.state in ('held', 'blocked')
    returning j.id
  )
  select coalesce(array_agg(c.id), '{}') into grown from counted c;
  if grown <> jobs then
    perform bellhop.ended(w.failed) from bellhop.resolve(array(select j from unnest(jobs) j where j <> all (grown)), false) w;
  end if;
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
    raise check_violation using message = format('a job cannot need itself, and job %s would', new.job),
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

CREATE OR REPLACE FUNCTION bellhop.dependents(ids bigint[], cancelled boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with recursive meant (id) as materialized (
    select j.id from bellhop.job j where j.id = any (dependents.ids) and (not dependents.cancelled or j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
  ), fall (id, ends) as (
    select m.id, 'cancelled' from meant m where exists (select from bellhop.dependency d where d.needs = m.id and not d.met)
    union
    select j.id, 'failed'
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met and (not dependents.cancelled or f.ends <> all (d.wanted))
      join bellhop.jobqueue j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
                             and (not dependents.cancelled or not j.held and j.on_failure = 'fail')
  ), told as (
    select distinct on (j.id) j.id,
           case when not dependents.cancelled then 'wait' when j.held then 'held' when j.on_failure = 'run' or f.ends = any (d.wanted) then 'run'
                when j.on_failure = 'block' then 'blocked' else 'failed' end as becomes
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met
      join bellhop.jobqueue j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready') and j.type <> 'dummy'
     where not exists (select from meant m where m.id = j.id)
     order by j.id, (j.on_failure = 'run' or f.ends = any (d.wanted))
  )
  select coalesce(jsonb_object_agg(b.becomes, b.n), '{}') from (select t.becomes, count(*) as n from told t group by t.becomes) b
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

CREATE OR REPLACE FUNCTION bellhop.edges(ids bigint[])
 RETURNS TABLE(job bigint, needs bigint, wanted text[], met boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with seen as materialized (
    select x.id from unnest(edges.ids) x (id) where exists (select from bellhop.job j where j.id = x.id offset 0)
  )
  select d.job, d.needs, d.wanted, d.met
    from bellhop.dependency d
   where d.job = any (array(select s.id from seen s)) and d.needs = any (array(select s.id from seen s))
   order by d.job, d.needs
$function$;

CREATE OR REPLACE FUNCTION bellhop.edit(id bigint, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, args text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, hold boolean DEFAULT NULL::boolean, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone, run_on text DEFAULT NULL::text, vars jsonb DEFAULT NULL::jsonb, msq text DEFAULT NULL::text, on_failure text DEFAULT NULL::text)
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
  select j.state, j.type, j.msq is not null as is_msq, j.on_failure, j.locks is not null as locked into was from bellhop.jobqueue j where j.id = edit.id for update;
  if was.state is null or was.state not in ('held', 'blocked', 'scheduled', 'ready') then
    return was.state;
  end if;
  if edit.msq is not null and not was.is_msq then
    raise object_not_in_prerequisite_state using message = format('job %s has no query that could be changed: it is given one line', edit.id),
      hint = 'Cancel it, and submit another one with a query.';
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
         msq           = coalesce(edit.msq, j.msq),
         vars          = coalesce(edit.vars, j.vars),
         behind        = null, -- its agent's locks, and filters, are asked anew
         run_on        = case when edit.run_on is null then j.run_on else nullif(edit.run_on, '') end,
         on_failure    = coalesce(edit.on_failure, j.on_failure),
         not_after     = case when edit.not_after is null then j.not_after else nullif(edit.not_after, 'infinity') end,
         held          = j.held or coalesce(edit.hold, false),
         state         = case when edit.hold or j.held then 'held' when edit.run_at is null or j.unmet is not null then j.state
                              when at > clock_timestamp() then 'scheduled' else 'ready' end,
         waiting_for   = case when edit.hold or edit.run_on is not null and j.unmet is null then null
                              when j.waiting_for in ('retry_delay', 'snoozed') and edit.run_at is not null then null else j.waiting_for end
   where j.id = edit.id;
  if edit.args is not null or edit.vars is not null then
    perform bellhop.unwanted_remote(edit.id);
  end if;
  if edit.not_after < 'infinity' then
    insert into bellhop.deadline (job, at) values (edit.id, edit.not_after) on conflict (job) do update set at = excluded.at;
  elsif edit.not_after is not null then
    delete from bellhop.deadline d where d.job = edit.id;
  end if;
  -- What it waits for may have ended already, in a way that means something else now.
  if edit.on_failure <> was.on_failure then
    update bellhop.dependency d set counted = false where d.job = edit.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[edit.id], false) w;
  end if;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if was.locked then
    perform pg_notify('bellhop', 'locks');
  end if;
  if edit.hold is false then
    return bellhop.release(edit.id);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = edit.id;
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.edit_version(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select md5(jsonb_build_array(j.args, j.msq, j.vars, j.timeout, j.held, j.own_attempts)::text) from bellhop.jobqueue j
   where j.id = edit_version.id and bellhop.may_change(j.submitted_by)
$function$;

CREATE OR REPLACE FUNCTION bellhop.end_told(run bigint, called text, state text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  if exists (select from bellhop.notice_rule r where r.active and end_told.state = any (r.statuses))
     or exists (select from bellhop.workflow w where w.name = called and w.notifies
                   and (end_told.state <> 'skipped' or w.definition -> 'notify' @? '$[*].when[*] ? (@ == "skipped")')) then
    insert into bellhop.run_end (run, workflow, state, reason) values (end_told.run, called, end_told.state, end_told.reason);
    perform pg_notify('bellhop_due', '');
  end if;
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

CREATE OR REPLACE FUNCTION bellhop.event_header(name text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select coalesce(w.definition -> 'sensor' ->> 'event', 'Idempotency-Key')
    from bellhop.workflow w where w.name = event_header.name and w.active and w.definition @> '{"sensor": {"http": true}}'
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

CREATE OR REPLACE FUNCTION bellhop.explain_workflow(name text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  w bellhop.workflow;
  s bellhop.sensor;
  r record;
  about jsonb := jsonb_build_object('name', explain_workflow.name);
begin
  select * into w from bellhop.workflow x where x.name = explain_workflow.name and bellhop.is_reader();
  if not found then
    return;
  end if;
  select * into s from bellhop.sensor x where x.workflow = w.name;
  about := about || jsonb_build_object('kind', s.kind, 'problem', s.problem, 'since', bellhop.since(s.since));
  if not w.active then
    return query select * from bellhop.reason('inactive', about);
  elsif s.workflow is null then
    return query select * from bellhop.reason('no_sensor', about);
  else
    if not exists (select from bellhop.instance i where i.state = 'live') then
      return query select * from bellhop.reason('nobody_starts', about);
    elsif not exists (select from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id)) then
      return query select * from bellhop.reason('nobody_starts/stopped', about || (
        select jsonb_build_object('by', string_agg(distinct m.by, ', '), 'since', bellhop.since(min(m.at))) from bellhop.manager_stop m));
    elsif bellhop.able(w.definition -> 'sensor') = '{}' then
      return query select * from bellhop.reason('nobody_starts/unseen', about);
    end if;
    if s.problem is not null then
      return query select * from bellhop.reason('sensor_fails', about);
    end if;
    if s.next_fire > '-infinity' and s.next_fire < 'infinity' then
      return query select * from bellhop.reason('next_slot', about || jsonb_build_object('at', to_char(s.next_fire, 'YYYY-MM-DD HH24:MI:SSOF'),
        'in', date_trunc('second', greatest(s.next_fire - clock_timestamp(), interval '0'))));
    elsif s.kind not in ('cron', 'every') then
      return query select * from bellhop.reason('awaits_event', about || jsonb_build_object('last', (
        select format(' The last one came at %s.', to_char(max(e.at), 'YYYY-MM-DD HH24:MI:SSOF')) from bellhop.event e
         where e.workflow = w.name having max(e.at) is not null)));
    end if;
  end if;
  return query select u.* from bellhop.unserved(w.definition) u;
  select count(*) as n, min(e.at) as first into r from bellhop.event e where e.workflow = w.name and e.run is null;
  if r.n > 0 then
    return query select * from bellhop.reason('event_waits', about || jsonb_build_object('n', r.n, 'since', bellhop.since(r.first)));
  end if;
  for r in select x.id, x.state, x.reason, coalesce(x.started_at, x.created_at) as since from bellhop.run x
            where x.workflow = w.name and x.state in ('queued', 'running') order by x.id limit 3
  loop
    return query select * from bellhop.reason(case when r.state = 'queued' and r.reason is not null then 'run_open/inactive' else 'run_open' end,
      about || jsonb_build_object('run', r.id, 'state', r.state, 'since', bellhop.since(r.since)));
  end loop;
  for r in select x.id, x.state, x.reason, x.event from bellhop.run x where x.workflow = w.name order by x.id desc limit 1
  loop
    if r.state in ('skipped', 'failed') then
      return query select * from bellhop.reason('run_' || r.state, about || jsonb_build_object('run', r.id, 'of', ' of ' || r.event,
        'reason', coalesce(r.reason, 'no reason was given')));
    end if;
  end loop;
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

  -- Of a run that waits until its workflow is active again, nothing but that lets anything go.
  select x.workflow into what from bellhop.run x
   where x.id = j.run and x.state = 'queued' and x.reason is not null and is_at in ('held', 'blocked');
  if what is not null then
    return query select * from bellhop.reason('inactive/run', jsonb_build_object('run', j.run, 'name', what));
  end if;
  if is_at = 'held' and (what is null or j.type <> 'dummy') then
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
      jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2), 'attempt', j.attempt, 'most', j.max_attempts, 'at', coalesce(nullif(to_char(j.run_at, 'YYYY-MM-DD HH24:MI:SSOF'), ''), j.run_at::text), 'error', coalesce(j.error, 'no reason was given'), 'in',
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

  if is_at = 'ready' then
    return query select x.code, x.sentence, x.next from bellhop.engine_job e cross join lateral bellhop.reason('on_engine/left', jsonb_build_object('id', j.id,
      'engine', e.engine, 'tag', e.tag, 'id_there', ' (there: ' || e.engine_id || ')')) x
     where e.job = j.id and e.attempt = j.attempt + 1 and e.state in ('submitting', 'running', 'ended');
  end if;

  if is_at = 'ready' and j.locks is not null then
    for r in select distinct on (h.job) h.job, h.since, h.want, q.type, h.held
               from bellhop.lock_holders(bellhop.wanted_locks(j.locks, j.waiting_for, j.behind)) h
               join bellhop.jobqueue q on q.id = h.job
              where h.job <> j.id
              order by h.job, h.want limit 10
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
      return query select x.code, x.sentence, x.next from bellhop.engine_job e cross join lateral bellhop.reason('on_engine', jsonb_build_object('id', j.id,
        'engine', e.engine, 'tag', e.tag, 'id_there', ' (there: ' || e.engine_id || ')', 'stage',
        case when e.how is not null then 'it is over there, ' || e.how when e.state = 'submitting' then 'it is being submitted' when e.stage is null then 'it was accepted, and has not been seen there yet'
             else e.stage || ' there' || coalesce(' since ' || date_trunc('second', e.ran_at), '') end)) x
       where e.job = j.id and e.attempt = j.attempt and e.state <> 'over';
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
    if not exists (select from bellhop.causes() c where c.cause = what and c.of = 'ended' and what not in ('killed', 'succeeded', 'cancelled', 'no_data', 'skipped')) then
      what := substring(error from '^(args_too_long)$');
    else
      error := substr(error, length(what) + 3);
    end if;
    what := case when j.state = 'cancelled' and what in ('filter_rejected', 'expired') then what
                 when j.state = 'succeeded' and j.ended_as = 'skipped' and j.attempt = 0 then 'skipped/passed_over'
                 when j.state = 'succeeded' and j.ended_as is not null then j.ended_as
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

  if is_at in ('blocked', 'ready', 'assigned', 'running') then
    what := bellhop.chain(j.id);
    if what is not null then
      return query select * from bellhop.reason('chain', jsonb_build_object('id', j.id, 'chain', what,
        'last', (select b.job from bellhop.blockers(j.id) b order by b.n desc limit 1)));
    end if;
  end if;

  for r in select x.id, x.workflow, x.state from bellhop.run x where x.id = j.run and j.step is not null
  loop
    return query select * from bellhop.reason('step_of', jsonb_build_object('step', j.step, 'run', r.id, 'workflow', r.workflow, 'state', r.state));
  end loop;

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
  ms   numeric;
begin
  if filter_check.action is null
     or filter_check.action !~ '^(ACCEPT|CONTINUE|PAUSE|REJECT|RATE_LIMIT [1-9][0-9]{0,8}( per ([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)?)$' then
    raise check_violation using constraint = 'filter_action',
      message = coalesce(format('there is no action %L for a filter', filter_check.action), 'a filter needs an action'),
      hint = 'Write ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT 2, or RATE_LIMIT 10 per 1m.';
  end if;
  ms := (select sum(m[1]::numeric * case m[2] when 'ns' then 0.000001 when 'ms' then 1 when 's' then 1000 when 'm' then 60000 when 'h' then 3600000 else 0.001 end)
           from regexp_matches(split_part(filter_check.action, ' per ', 2), '([0-9.]+)(ns|us|µs|ms|s|m|h)', 'g') m);
  if ms not between 1 and 876000 * 3600000.0 then
    raise check_violation using constraint = 'filter_action',
      message = format('%L: the time of a limit is from 1ms to 876000h, which is a hundred years', filter_check.action),
      hint = 'Write RATE_LIMIT 10 per 1m.';
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
    return bellhop.filter_regex_flaw(expr ->> 2);
  elsif jsonb_typeof(expr -> 2) = 'number' and abs((expr ->> 2)::numeric) > 1.7e308 then
    return format('%s: there is no number that large', expr);
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

CREATE OR REPLACE FUNCTION bellhop.filter_regex_flaw(regex text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when e.bad is not null then format('%L: there is no \%s in a regular expression of a filter', regex, e.bad)
    when starts_with(regex, '***') or strpos(regex, '[[:<:]]') > 0 or strpos(regex, '[[:>:]]') > 0 or e.bare ~ '\(\?[^:]'
      then format('%L: a regular expression of a filter has no lookaround, and no options but (?i), (?m) and (?s) in front', regex)
  end
  from (select (select m[1] from regexp_matches(regex, '\\(.)', 'g') m where m[1] ~ '[A-Za-z0-9]' and m[1] !~ '[abfnrtvABdDsSwW0]' or ascii(m[1]) > 127 limit 1),
               regexp_replace(regexp_replace(regexp_replace(regex, '\\.', 'x', 'g'), '\[\^?\]?[^]]*\]', 'x', 'g'), '^\(\?[ims]+\)', '')) e (bad, bare)
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
      -- And what was parked and does not wait for that alone any more: it is held, or its time was set. Index: jobqueue_parked.
      update bellhop.jobqueue j set behind = null
       where j.state in ('held', 'blocked', 'scheduled') and j.locks is not null
         and (starts_with(j.behind, 'filter:') or starts_with(j.behind, 'paused:'));
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

CREATE OR REPLACE FUNCTION bellhop.find_lost_turns(locks text[])
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
    select split_part(w.behind, ':', 1) as level, substr(w.behind, strpos(w.behind, ':') + 1) as name
      from unnest(find_lost_turns.locks) w (behind)
  ), ownerless as (
    select l.level, l.name from l
     where (l.level <> 'paused' or not exists (select from bellhop.filter f where f.id = l.name and f.action = 'PAUSE')) -- one that is there holds them
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

CREATE OR REPLACE FUNCTION bellhop.fire(called text, events text[], slots timestamp with time zone[], caught boolean[], next timestamp with time zone, safely boolean, held timestamp with time zone DEFAULT NULL::timestamp with time zone)
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
     set next_fire = next, held = fire.held, fired_at = case when events <> '{}' then clock_timestamp() else s.fired_at end,
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

CREATE OR REPLACE FUNCTION bellhop.graph(of bigint, most bigint)
 RETURNS TABLE(id bigint, key text, type text, state text, exit_code integer, error text, waiting_for text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with recursive way (id) as (
    select graph.of
    union
    select x.id
      from way w
     cross join lateral (select d.needs as id from bellhop.dependency d where d.job = w.id
                         union all
                         select d.job from bellhop.dependency d where d.needs = w.id) x
  )
  select j.id, j.key, j.type, j.state, j.exit_code, j.error, j.waiting_for
    from (select w.id from way w limit graph.most) p
   cross join lateral (select * from bellhop.job q where q.id = p.id offset 0) j -- one by one: a hash would be of the whole queue
   order by j.id
$function$;

CREATE OR REPLACE FUNCTION bellhop.happened(called text, event text, given jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if not exists (select from bellhop.workflow w where w.name = called and w.active) then
    return null;
  end if;
  insert into bellhop.event (workflow, event, parameters) values (called, happened.event, given) on conflict (workflow, event) do nothing;
  if not found then
    return false;
  end if;
  perform pg_notify('bellhop_due', '');
  return true;
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

CREATE OR REPLACE FUNCTION bellhop.is_served(type text, job bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (select from bellhop.jobqueue j
                  cross join bellhop.instance i
                   join bellhop.agent a on a.instance = i.id
                   join bellhop.host h on h.instance = i.id
                  where j.id = is_served.job and i.state = 'live' and not i.paused && array[is_served.type, '']
                    and (a.type = is_served.type or a.type = 'rjm' and exists (select from bellhop.rjm r where r.job = j.id))
                    and h.state = 'up' and not (a.local and h.far)
                    and (j.run_on is null or bellhop.answers(h.name, h.serves, j.run_on)
                         or exists (select from bellhop.located l where l.instance = i.id and l.key = j.run_on and h.name = any (l.hosts)))
                    and (h.only_types is null or a.type = any (h.only_types))
                    and (h.only_rjm is null or a.type <> 'rjm' or is_served.type ~ h.only_rjm)
                    and (h.only_priorities is null and h.only_names is null or j.priority = any (h.only_priorities) or j.priority_name ~ h.only_names))
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

CREATE OR REPLACE FUNCTION bellhop.jobs_forgotten(ids bigint[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  n integer;
begin
  if ids = '{}' then
    return 0;
  end if;
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.lost_run l where l.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.deadline d where d.job = any (ids);
  delete from bellhop.rjm r where r.job = any (ids);
  delete from bellhop.attached x where x.job = any (ids);
  delete from bellhop.engine_job e where e.job = any (ids) and e.state = 'over';
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics n = row_count;
  return n;
end
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

CREATE OR REPLACE FUNCTION bellhop.json_kind(v jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case jsonb_typeof(v) when 'object' then 'keys and values' when 'array' then 'a list' when 'number' then 'a number'
              when 'boolean' then 'true or false' when 'string' then 'a string' else 'nothing' end
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
  if was in ('blocked', 'held') and exists (select from bellhop.jobqueue j where j.id = killjob.id and j.type = 'dummy' and j.run is not null) then
    raise object_not_in_prerequisite_state using message = format('job %s is none of the steps of its run, but waits for them', killjob.id),
      hint = format('Cancel its steps: select bellhop.cancel(s.job) from bellhop.step s join bellhop.jobqueue j on j.run = s.run where j.id = %s', killjob.id);
  end if;
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

CREATE OR REPLACE FUNCTION bellhop.lock_beside(most integer)
 RETURNS TABLE(job bigint, type text, priority integer, slots integer, age double precision, runs double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with recursive t as (
    (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and bellhop.is_reader()
      order by j.type limit 1)
    union all
    select (select j.type from bellhop.jobqueue j where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.type > t.type
             order by j.type limit 1)
      from t where t.type is not null
  )
  select j.id, j.type, j.priority::integer,
         case when j.msq is null then 1 else (select count(*)::integer from bellhop.child c where c.job = j.id and c.state = 'RUNNING') end,
         extract(epoch from statement_timestamp() - j.created_at)::float8,
         extract(epoch from statement_timestamp() - coalesce(j.attempt_at, j.started_at, statement_timestamp()))::float8
    from bellhop.jobqueue j
   where j.state in ('assigned', 'running') and (j.locks is null or j.msq is not null) and bellhop.is_reader()
  union all
  (select f.id, f.type, f.priority::integer, 0, extract(epoch from statement_timestamp() - f.created_at)::float8, 0
     from t
    cross join lateral (
      select j.id, j.type, j.priority, j.created_at from bellhop.jobqueue j
       where j.type = t.type and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null
       order by j.priority, j.id limit lock_beside.most) f
    where t.type is not null and not exists (select from bellhop.paused p where p.type in (t.type, ''))
    order by f.priority, f.id limit lock_beside.most)
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_fault(lock text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  how   constant text := 'write level:name=exclusive, level:name=shared, level:*=shared (all), level:?=shared (unknown), or big';
  colon integer := strpos(lock, ':');
  eq    integer := length(lock) - strpos(reverse(lock), '=') + 1; -- beyond the end: there is none
  level text := left(lock, colon - 1);
  named text := substr(lock, colon + 1, greatest(eq - colon - 1, 0));
  at    integer;
  why   text;
  next  text := how;
begin
  if lock = 'big' then
    return null;
  elsif lock = '' then
    at := 1; why := 'it is empty';
  elsif colon = 0 then
    at := length(lock) + 1; why := 'there is no colon after a level';
  elsif eq > length(lock) or eq < colon then
    at := length(lock) + 1; why := 'there is no = with a mode after the name'; next := format('write %s=exclusive, or %1$s=shared', lock);
  elsif level = '' then
    at := 1; why := 'the level is empty';
  elsif level = 'big' then
    at := 1; why := 'big is a lock by itself, and no level';
  elsif octet_length(level) > 1024 then
    at := 1; why := format('the level has %s bytes, and may have 1024', octet_length(level));
  elsif level ~ '[^a-zA-Z0-9_-]' then
    at := length(substring(level from '^[a-zA-Z0-9_-]*')) + 1;
    why := format('''%s'' may not stand in a level: letters a to z, digits, _ and - may', substr(level, at, 1));
  elsif substr(lock, eq + 1) not in ('exclusive', 'shared') then
    at := eq + 1; why := format('%s is no mode', to_json(substr(lock, eq + 1))); next := format('write %s=exclusive, or %1$s=shared', left(lock, eq - 1));
  elsif named in ('', '\') then
    at := colon + 1; why := 'the name is empty';
    next := format('write %s:NAME=%s, or %1$s:*=%2$s for all', level, substr(lock, eq + 1));
  elsif octet_length(named) - (named like '\\%')::integer > 1024 then
    at := colon + 1; why := format('the name has %s bytes, and may have 1024', octet_length(named) - (named like '\\%')::integer);
    next := 'write a shorter one, a hash for instance';
  else
    return null;
  end if;
  return format('lock %s, character %s: %s; %s', to_json(lock), at, why, next);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_heads(most integer)
 RETURNS TABLE(level text, name text, mode text, holders bigint, job bigint, held double precision, waiting bigint, oldest double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with held as (
    select l.level, l.name, max(l.mode) as mode, count(*) as holders, (array_agg(l.job order by l.since))[1] as job, min(l.since) as since
      from bellhop.lock l where bellhop.is_reader() group by l.level, l.name
  ), waited as (
    select split_part(w.behind, ':', 1) as level, substr(w.behind, strpos(w.behind, ':') + 1) as name, c.n as waiting, o.since as oldest
      from bellhop.waited_for(100) w
     cross join lateral (select count(*) as n from (select from bellhop.jobqueue j
        where coalesce(j.behind, '') = w.behind and j.state = 'ready' and not j.held and j.locks is not null limit 1000) x) c
     cross join lateral (select min(h.since) as since from bellhop.heads_behind(w.behind) h) o
     where bellhop.is_reader()
  )
  select coalesce(h.level, w.level), coalesce(h.name, w.name), h.mode, coalesce(h.holders, 0), h.job,
         extract(epoch from clock_timestamp() - h.since)::float8, coalesce(w.waiting, 0), extract(epoch from clock_timestamp() - w.oldest)::float8
    from held h left join waited w on w.level = h.level and w.name = h.name
  union all
  select w.level, w.name, null, 0, null, null, w.waiting, extract(epoch from clock_timestamp() - w.oldest)::float8
    from waited w where not exists (select from held h where h.level = w.level and h.name = w.name)
   order by 7 desc, 8 desc nulls last, 1, 2
   limit lock_heads.most
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_holders(wants text[])
 RETURNS TABLE(job bigint, since timestamp with time zone, want text, held text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  return query
  with w as materialized (
    select distinct t.want, split_part(t.want, ':', 1) as level, regexp_replace(substr(t.want, strpos(t.want, ':') + 1), '=[a-z]+$', '') as name
      from unnest(lock_holders.wants) t (want)
  ), g as materialized (
    select l.level, l.name, l.mode, l.job, l.since from bellhop.lock l
  ), pair as (
    select w.want, g.level, g.name, g.mode, g.job, g.since from w join g on g.level = w.level and g.name = w.name
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from w join g on g.level = w.level where w.name = '*'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from g join w on w.level = g.level where g.name = '*'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from w cross join g where w.want = 'big'
    union
    select w.want, g.level, g.name, g.mode, g.job, g.since from g cross join w where g.level = 'big'
  )
  select p.job, p.since, p.want, case p.level when 'big' then 'big' else format('%s:%s=%s', p.level, p.name, p.mode) end
    from pair p
   where bellhop.locks_clash(p.want, p.level, p.name, p.mode);
end
$function$;

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
 SET jit TO 'off'
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
    from bellhop.lock l
   cross join lateral (select q.type from bellhop.jobqueue q where q.id = l.job offset 0) j -- one by one: else all of the queue is read
   where bellhop.is_reader()
  union all
  select split_part(w.behind, ':', 1), substr(w.behind, strpos(w.behind, ':') + 1), null, case w.behind when '' then 'next' else 'waits' end,
         w.id, w.type, null, w.created_at, w.place, w.waiting_for
    from waiting w where w.place <= lock_queue.most
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_reservations()
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select r.job from bellhop.lock_reserved r where bellhop.is_reader()
$function$;

CREATE OR REPLACE FUNCTION bellhop.lock_scene(most integer, mine bigint DEFAULT 0)
 RETURNS TABLE(job bigint, type text, priority integer, locks text[], behind text, place bigint, holds boolean, age double precision, runs double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
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
         extract(epoch from statement_timestamp() - j.created_at)::float8,
         extract(epoch from statement_timestamp() - coalesce(j.attempt_at, j.started_at, statement_timestamp()))::float8
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
declare
  most constant integer := 1000;
  beyond text;
  locks  text[];
begin
  -- What is cheap comes first: an INSERT of a million rows that is not committed yet stands behind no lock, and whoever looks there
  -- walks all of it.
  if not exists (select from bellhop.lock_grant)
     and (select true from bellhop.jobqueue j where coalesce(j.behind, '') > '' and j.state = 'ready' and not j.held and j.locks is not null
           order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1) is null
     and (select true from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
           order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1) is null then
    return false;
  end if;
  select s.beyond into beyond from bellhop.lock_scan s;
  locks := array(select w.behind from bellhop.waited_for(most, coalesce(beyond, '')) w);
  if cardinality(locks) < most and beyond > '' then -- and on from the first of all
    locks := locks || array(select w.behind from bellhop.waited_for(most - cardinality(locks)) w where w.behind <= beyond);
  end if;
  if cardinality(locks) = most or beyond > '' then
    update bellhop.lock_scan s set beyond = case cardinality(locks) when most then locks[most] else '' end
      from (select l.one from bellhop.lock_scan l for update skip locked) free -- another instance's scan goes on from there as well
     where s.one = free.one;
  end if;
  perform bellhop.find_lost_turns(locks);
  delete from bellhop.lock_reserved r
   where not exists (select from bellhop.jobqueue j
                      where j.id = r.job and j.state || '' = 'ready' and not j.held and j.locks is not null and bellhop.is_served(j.type, j.id));
  if reserve_after > 0 then
    insert into bellhop.lock_reserved (job)
    select f.job
      from (select '' as behind union all select l.behind from unnest(locks) l (behind)) w
     cross join lateral bellhop.heads_behind(w.behind) f
     where split_part(w.behind, ':', 1) not in ('paused', 'filter', 'rate-limit', 'unreadable') -- no lock keeps them waiting
       and f.since < clock_timestamp() - reserve_after * interval '1 ms'
       and not exists (select from bellhop.lock_reserved r where r.job = f.job)
       and bellhop.is_served((select j.type from bellhop.jobqueue j where j.id = f.job), f.job)
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
    perform bellhop.end_told(r, w.name, 'skipped', (select x.reason from bellhop.run x where x.id = r));
    return r;
  end if;
  -- A queued run with a reason waits until its workflow is active again (bellhop.runs_wait): who comes by hand overtakes it.
  select x.last into ahead from bellhop.run x
   where x.workflow = w.name and (x.state = 'running' or x.state = 'queued' and x.reason is null) order by x.id desc limit 1;
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
    -- One that is gone may have been stopped, and be stopped when it comes back: its name is known by that.
    if not found and not exists (select from bellhop.instance i where i.name = called and i.state = 'live') then
      raise undefined_object using message = format('there is no instance %s', called), hint = 'bellhop instances';
    end if;
  end if;
  perform pg_notify('bellhop_due', '');
  return (select count(*) from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id));
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.masked(error text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT regexp_replace("left"(COALESCE("substring"(error, '^[^\n\r]*'::text), ''::text), 300), '[0-9][0-9a-fA-F]*'::text, '#'::text, 'g'::text) AS regexp_replace;
END;

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

CREATE OR REPLACE FUNCTION bellhop.notice_again(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  was text;
begin
  perform bellhop.refuse_but_operators('send messages again');
  select n.status into was from bellhop.notice n where n.id = notice_again.id for update;
  if was in ('waiting', 'given_up') then
    update bellhop.notice n
       set status = 'waiting', next_at = clock_timestamp(), sent_at = null,
           until = greatest(n.until, clock_timestamp() + greatest(n.until - n.at, interval '1 h')), at = case when was = 'given_up' then clock_timestamp() else n.at end
     where n.id = notice_again.id;
    perform pg_notify('bellhop_due', '');
  end if;
  return was;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_free(holder bigint, me bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select holder is null or holder = me or not exists (select from bellhop.instance i where i.id = holder and i.state = 'live')
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_rule_add(project text DEFAULT ''::text, prefix text DEFAULT ''::text, statuses text[] DEFAULT '{failed}'::text[], mail text[] DEFAULT '{}'::text[], webhook text DEFAULT NULL::text, command text[] DEFAULT '{}'::text[], unless_success_within interval DEFAULT NULL::interval, active boolean DEFAULT true)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  made bigint;
begin
  perform bellhop.refuse_but_operators('say who is told of runs');
  perform bellhop.notice_rule_refused(statuses, mail, webhook, command);
  insert into bellhop.notice_rule (project, prefix, statuses, mail, webhook, command, unless_success_within, active, changed_by)
  values (coalesce(notice_rule_add.project, ''), coalesce(notice_rule_add.prefix, ''), notice_rule_add.statuses, coalesce(notice_rule_add.mail, '{}'),
          nullif(notice_rule_add.webhook, ''), coalesce(notice_rule_add.command, '{}'), notice_rule_add.unless_success_within,
          coalesce(notice_rule_add.active, true), bellhop.caller())
  returning notice_rule.id into made;
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_rule_change(id bigint, project text DEFAULT ''::text, prefix text DEFAULT ''::text, statuses text[] DEFAULT '{failed}'::text[], mail text[] DEFAULT '{}'::text[], webhook text DEFAULT NULL::text, command text[] DEFAULT '{}'::text[], unless_success_within interval DEFAULT NULL::interval, active boolean DEFAULT NULL::boolean, version integer DEFAULT NULL::integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  o bellhop.notice_rule;
begin
  perform bellhop.refuse_but_operators('say who is told of runs');
  perform bellhop.notice_rule_refused(statuses, mail, webhook, command);
  select * into o from bellhop.notice_rule r where r.id = notice_rule_change.id for update;
  if notice_rule_change.version <> o.version then
    raise object_not_in_prerequisite_state using
      message = format('rule %s has version %s, not %s: %s changed it at %s', o.id, o.version, notice_rule_change.version,
                       o.changed_by, to_char(o.changed_at, 'YYYY-MM-DD HH24:MI:SS')),
      hint = 'Look at what it is now: bellhop workflow notify ls';
  end if;
  update bellhop.notice_rule r
     set project = coalesce(notice_rule_change.project, ''), prefix = coalesce(notice_rule_change.prefix, ''), statuses = notice_rule_change.statuses,
         mail = coalesce(notice_rule_change.mail, '{}'), webhook = nullif(notice_rule_change.webhook, ''),
         command = coalesce(notice_rule_change.command, '{}'), unless_success_within = notice_rule_change.unless_success_within,
         active = coalesce(notice_rule_change.active, r.active), version = r.version + 1,
         changed_at = clock_timestamp(), changed_by = bellhop.caller()
   where r.id = notice_rule_change.id;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_rule_delete(id bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  perform bellhop.refuse_but_operators('say who is told of runs');
  delete from bellhop.notice_rule r where r.id = notice_rule_delete.id;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_rule_refused(statuses text[], mail text[], webhook text, command text[])
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not coalesce(statuses <@ '{succeeded,failed,skipped}' and statuses <> '{}', false) then
    raise invalid_parameter_value using message = format('no run ends as %s', array_to_string(statuses, ', ', 'NULL')), hint = 'succeeded, failed or skipped';
  elsif coalesce(mail, '{}') = '{}' and coalesce(webhook, '') = '' and coalesce(command, '{}') = '{}' then
    raise invalid_parameter_value using message = 'nobody would be told', hint = 'give mail, webhook or command';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notice_rule_test(id bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  made bigint[];
begin
  perform bellhop.refuse_but_operators('have messages sent');
  if not exists (select from bellhop.notice_rule r where r.id = notice_rule_test.id) then
    return null;
  end if;
  delete from bellhop.notice n where n.run = 0 and n.status <> 'waiting' and n.at < clock_timestamp() - interval '7 d'; -- of no run that would take them along
  with sent as (
    insert into bellhop.notice (run, workflow, project, state, reason, ended_at, channel, target, needs, until)
    select 0, format('test of rule %s', r.id), r.project, 'test', format('asked for by %s', bellhop.caller()), clock_timestamp(),
           l.channel, l.target, l.needs, clock_timestamp() + interval '1 h'
      from bellhop.notice_rule r
     cross join lateral (
       select 'mail' as channel, m as target, 'mail' as needs from unnest(r.mail) as m
       union select 'webhook', r.webhook, 'webhook' where r.webhook <> ''
       union select 'command', to_json(r.command)::text, case when cardinality(r.command) = 1 then 'command:' || r.command[1] else 'command:*' end
        where r.command <> '{}') l
     where r.id = notice_rule_test.id
    returning notice.id
  )
  select array_agg(s.id order by s.id) into made from sent s;
  perform pg_notify('bellhop_due', '');
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.notices_next(me bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  if exists (select from bellhop.run_end) then
    return 0;
  elsif not exists (select from bellhop.notice n where n.status = 'waiting') then
    return null;
  end if;
  return (select greatest(0, ceil(extract(epoch from least(
            (select n.next_at from bellhop.notice n
              where n.status = 'waiting' and bellhop.tells_of(i.tells, n.needs) and bellhop.notice_free(n.instance, me) order by n.next_at limit 1),
            (select n.until from bellhop.notice n
              where n.status = 'waiting' and bellhop.notice_free(n.instance, me) order by n.until limit 1)) - clock_timestamp()) * 1000))
            from bellhop.instance i where i.id = me and i.state = 'live')::bigint;
end
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
        when object_not_in_prerequisite_state then
          wrong := sqlerrm;
          done := 'refused';
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

CREATE OR REPLACE FUNCTION bellhop.operation_fits(verb text, may text[], state text, held boolean)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT ((state = ANY (may)) AND
         CASE verb
             WHEN 'release'::text THEN held
             WHEN 'hold'::text THEN (NOT held)
             ELSE true
         END);
END;

CREATE OR REPLACE FUNCTION bellhop.operation_jobs(filter jsonb, plan pg_snapshot, past bigint)
 RETURNS TABLE(id bigint, key text, type text, state text, held boolean)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT j.id,
     j.key,
     j.type,
     j.state,
     j.held
    FROM bellhop.jobqueue j
   WHERE ((j.id > operation_jobs.past) AND pg_visible_in_snapshot(j.txid, operation_jobs.plan) AND (j.type <> ALL (ARRAY['command'::text, 'dummy'::text])) AND (((operation_jobs.filter -> 'id'::text) IS NULL) OR (j.id IN ( SELECT (x.value)::bigint AS x
            FROM jsonb_array_elements_text((operation_jobs.filter -> 'id'::text)) x(value)))) AND (((operation_jobs.filter -> 'state'::text) IS NULL) OR (j.state IN ( SELECT jsonb_array_elements_text((operation_jobs.filter -> 'state'::text)) AS jsonb_array_elements_text))) AND (((operation_jobs.filter -> 'type'::text) IS NULL) OR (j.type IN ( SELECT jsonb_array_elements_text((operation_jobs.filter -> 'type'::text)) AS jsonb_array_elements_text))) AND (((operation_jobs.filter -> 'key'::text) IS NULL) OR starts_with(j.key, (operation_jobs.filter ->> 'key'::text))) AND (((operation_jobs.filter -> 'error'::text) IS NULL) OR (strpos(j.error, (operation_jobs.filter ->> 'error'::text)) > 0)) AND (((operation_jobs.filter -> 'failure'::text) IS NULL) OR (bellhop.masked(j.error) = (operation_jobs.filter ->> 'failure'::text))) AND (((operation_jobs.filter -> 'run'::text) IS NULL) OR (j.run = ((operation_jobs.filter ->> 'run'::text))::bigint)) AND (((operation_jobs.filter -> 'host'::text) IS NULL) OR (j.host = (operation_jobs.filter ->> 'host'::text))) AND (((operation_jobs.filter -> 'created_after'::text) IS NULL) OR (j.created_at >= ((operation_jobs.filter ->> 'created_after'::text))::timestamp with time zone)) AND (((operation_jobs.filter -> 'created_before'::text) IS NULL) OR (j.created_at < ((operation_jobs.filter ->> 'created_before'::text))::timestamp with time zone)) AND (((operation_jobs.filter -> 'ended_after'::text) IS NULL) OR (j.ended_at >= ((operation_jobs.filter ->> 'ended_after'::text))::timestamp with time zone)) AND (((operation_jobs.filter -> 'ended_before'::text) IS NULL) OR (j.ended_at < ((operation_jobs.filter ->> 'ended_before'::text))::timestamp with time zone)))
   ORDER BY j.id;
END;

CREATE OR REPLACE FUNCTION bellhop.operation_one(o bellhop.operation, job bigint)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET lock_timeout TO '50ms'
AS $function$
begin
  case o.verb
    when 'cancel'   then perform bellhop.cancel(job);
    when 'kill'     then perform bellhop.cancel(job, true);
    when 'retry'    then perform bellhop.retry(job);
    when 'release'  then perform bellhop.release(job);
    when 'hold'     then perform bellhop.edit(job, hold => true);
    when 'priority' then perform bellhop.edit(job, priority => o.priority::integer);
  end case;
  return null;
exception
  when lock_not_available then return '';
  when object_not_in_prerequisite_state or insufficient_privilege then return sqlerrm; -- that one alone
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_plan(verb text, filter jsonb, priority integer DEFAULT NULL::integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  who     text := bellhop.operation_role();
  may     text[] := bellhop.operation_states(operation_plan.verb);
  snap    pg_snapshot := pg_current_snapshot();
  unknown text;
  counted jsonb;
  over    jsonb;
  few     jsonb;
  hang    jsonb := '{}';
  n       bigint;
  made    bigint;
begin
  select k into unknown from jsonb_object_keys(operation_plan.filter) k
   where k not in ('all', 'id', 'state', 'type', 'key', 'error', 'failure', 'run', 'host', 'created_after', 'created_before', 'ended_after', 'ended_before') limit 1;
  if unknown is not null then
    raise invalid_parameter_value using message = format('a filter has no %L', unknown),
      hint = 'id, state, type, key, error, failure, run, host, created_after, created_before, ended_after, ended_before; all: true for every job';
  elsif operation_plan.filter - 'all' = '{}' and operation_plan.filter -> 'all' is distinct from 'true'::jsonb then
    raise invalid_parameter_value using message = 'an empty filter means every job', hint = 'Say "all": true where that is meant.';
  elsif (operation_plan.verb = 'priority') <> (operation_plan.priority is not null) then
    raise invalid_parameter_value using message = 'priority is for the verb priority, which needs one', hint = '-20 (first) to 19 (last)';
  elsif operation_plan.filter -> 'state' is null then -- what failed is tried again; what has succeeded only when it is named
    operation_plan.filter := operation_plan.filter || jsonb_build_object('state', to_jsonb(case when operation_plan.verb = 'retry' then '{failed,quarantined}'::text[] else may end));
  end if;
  delete from bellhop.operation o
   where o.state = 'planned' and o.planned_at < clock_timestamp() - interval '7 d'
      or o.state in ('stopped', 'done', 'undone') and o.ended_at < clock_timestamp() - interval '90 d';
  insert into bellhop.operation (verb, filter, priority, plan, planned, by_state, skipped, samples, planned_by, actor)
  values (operation_plan.verb, operation_plan.filter, operation_plan.priority, snap, 0, '{}', '{}', '[]', who, bellhop.actor())
  returning id into made;
  -- What is counted, what is shown and what is kept is one look.
  with found as materialized (
    select j.id, j.key, j.type, j.state, bellhop.operation_fits(operation_plan.verb, may, j.state, j.held) as fits
      from bellhop.operation_jobs(operation_plan.filter, snap, 0) j
  ), kept as (
    insert into bellhop.operation_part (operation, last, ids)
    select made, max(f.id), array_agg(f.id order by f.id)
      from (select j.id, (row_number() over (order by j.id) - 1) / 1000 as part from found j where j.fits) f group by f.part
  )
  select coalesce(jsonb_object_agg(c.state, c.n), '{}'), coalesce(jsonb_object_agg(c.state, c.n - c.fit) filter (where c.n > c.fit), '{}'), coalesce(sum(c.fit), 0),
         (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from (select j.id, j.key, j.type, j.state from found j where j.fits order by j.id limit 20) s)
    into counted, over, n, few
    from (select j.state, count(*) as n, count(*) filter (where j.fits) as fit from found j group by j.state) c;
  -- Not asked where no job waits for another.
  if n > 0 and exists (select from bellhop.dependency d where not d.met) then
    hang := bellhop.dependents(array(select unnest(p.ids) from bellhop.operation_part p where p.operation = made), operation_plan.verb in ('cancel', 'kill'));
  end if;
  update bellhop.operation o set planned = n, by_state = counted, skipped = over, samples = few, dependents = hang where o.id = made;
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_role()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  if not bellhop.is_operator() then
    raise insufficient_privilege using message = format('permission denied: operations are for operators, and %s is none', bellhop.caller()),
      hint = format('grant bellhop_operator to %I', bellhop.caller());
  end if;
  return bellhop.caller();
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_start(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  who text := bellhop.operation_role();
begin
  update bellhop.operation o
     set state = 'running', started_at = coalesce(o.started_at, clock_timestamp()), ended_at = null, planned_by = who, actor = bellhop.actor(), worked_at = null,
         not_before = case when o.verb = 'kill' then clock_timestamp() + interval '5 s' end
   where o.id = operation_start.id and o.state in ('planned', 'stopped');
  return (select o.state from bellhop.operation o where o.id = operation_start.id);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_states(verb text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case verb
    when 'cancel'  then '{held,blocked,scheduled,ready,assigned,running}'::text[]
    when 'kill'    then '{held,blocked,scheduled,ready,assigned,running}'::text[]
    when 'retry'   then '{succeeded,failed,cancelled,quarantined}'::text[]
    when 'release' then '{held,blocked,scheduled,ready}'::text[]
    else '{held,blocked,scheduled,ready}'::text[] end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_step(id bigint, most integer DEFAULT 1000)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  o      bellhop.operation;
  may    text[];
  ids    bigint[];
  mine   bigint[];
  one    bigint;
  why    text;
  walked boolean;
  rest   integer;
  stuck  integer := 0;
  undo   boolean;
begin
  perform bellhop.operation_role();
  select * into o from bellhop.operation x where x.id = operation_step.id for update;
  if o.state = 'stopping' then
    update bellhop.operation x set state = 'stopped', ended_at = clock_timestamp() where x.id = o.id;
    return 'stopped';
  elsif o.state = 'running' and o.not_before > clock_timestamp() then
    return 'waiting';
  elsif o.state is distinct from 'running' then
    return o.state;
  end if;
  may := bellhop.operation_states(o.verb);
  undo := o.planned <= 10000 and o.verb in ('cancel', 'hold', 'priority');
  ids := array(select i.id from (select p.ids from bellhop.operation_part p where p.operation = o.id and p.last > o.past order by p.last limit 2) p, unnest(p.ids) i (id)
                where i.id > o.past order by i.id limit operation_step.most);
  walked := ids <> '{}';
  o.past := coalesce(ids[cardinality(ids)], o.past);
  rest := cardinality(o.later);
  if not walked then
    ids := o.later[:operation_step.most];
    o.later := o.later[operation_step.most + 1:];
  end if;
  mine := array(select q.id from bellhop.jobqueue q where q.id = any (ids) order by q.id for update skip locked);
  o.later := o.later || array(select i from unnest(ids) i where i <> all (mine) and exists (select from bellhop.jobqueue q where q.id = i));
  -- As they are now that nobody else may change them: of what was planned, what the filter still lets through.
  mine := array(select j.id from bellhop.operation_jobs(o.filter, o.plan, 0) j
                 where j.id = any (mine) and bellhop.operation_fits(o.verb, may, j.state, j.held));
  if undo then
    insert into bellhop.operation_job (operation, job, state, held, priority, priority_name)
    select o.id, q.id, q.state, q.held, q.priority, q.priority_name from bellhop.jobqueue q where q.id = any (mine)
    on conflict do nothing;
  end if;
  foreach one in array mine loop
    why := case when stuck < 20 then bellhop.operation_one(o, one) else '' end; -- each waits, and all of them have the time of one statement
    if why is null then
      o.done := o.done + 1;
    elsif why = '' then
      stuck := stuck + 1;
      o.later := o.later || one;
    else
      o.refused := o.refused + 1;
      o.error := format('job %s: %s', one, why);
    end if;
  end loop;
  if undo and o.verb = 'cancel' then
    update bellhop.operation_job u set ended_at = q.ended_at from bellhop.jobqueue q
     where u.operation = o.id and u.job = any (mine) and q.id = u.job and q.state = 'cancelled';
  end if;
  if not walked then
    o.tries := case when cardinality(o.later) < rest then 0 else o.tries + 1 end;
  end if;
  if not walked and (o.later = '{}' or o.tries >= 50) then
    if o.later <> '{}' then
      o.refused := o.refused + cardinality(o.later);
      o.error := format('job %s: another transaction has it, or one that needs it', o.later[1]);
      o.later := '{}';
    end if;
    o.state := 'done';
    delete from bellhop.operation_part p where p.operation = o.id;
  end if;
  update bellhop.operation x
     set past = o.past, later = o.later, tries = o.tries, done = o.done, refused = o.refused, error = o.error, state = o.state,
         worked_at = clock_timestamp(), ended_at = case when o.state = 'done' then clock_timestamp() end
   where x.id = o.id;
  return case when o.state = 'running' and o.tries > 0 then 'waiting' else o.state end;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_stop(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  perform bellhop.operation_role();
  update bellhop.operation o
     set state = case when o.worked_at > clock_timestamp() - interval '15 s' then 'stopping' else 'stopped' end,
         ended_at = clock_timestamp()
   where o.id = operation_stop.id and o.state in ('planned', 'running', 'stopping');
  return (select o.state from bellhop.operation o where o.id = operation_stop.id);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.operation_undo(id bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  o     bellhop.operation;
  n     bigint := 0;
  mine  bigint[];
  needy bigint[];
begin
  perform bellhop.operation_role();
  select * into o from bellhop.operation x where x.id = operation_undo.id for update;
  if o.id is null then
    return null;
  elsif o.state not in ('done', 'stopped') or o.verb not in ('cancel', 'hold', 'priority') or o.planned > 10000 then
    raise object_not_in_prerequisite_state using message = format('operation %s cannot be undone: it is %s, %s, for %s jobs', o.id, o.verb, o.state, o.planned),
      hint = 'cancel, hold and priority can, when they are over, up to 10000 jobs';
  end if;
  mine := array(select q.id from bellhop.jobqueue q join bellhop.operation_job u on u.job = q.id and u.operation = o.id order by q.id for update of q skip locked);
  if o.verb = 'hold' then
    with freed as (
      update bellhop.jobqueue q set held = false,
             state = case when q.unmet is not null then 'blocked' when q.run_at > clock_timestamp() then 'scheduled' else 'ready' end
        from bellhop.operation_job u
       where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.held and not u.held and q.state = 'held'
      returning q.id, q.unmet
    )
    select count(*), array_agg(f.id order by f.id) filter (where f.unmet is not null) into n, needy from freed f;
    if needy is not null then
      perform bellhop.ended(w.failed) from bellhop.resolve(needy, false) w; -- some may have failed while they were held
    end if;
  elsif o.verb = 'priority' then
    update bellhop.jobqueue q set priority = u.priority, priority_name = u.priority_name, behind = null
      from bellhop.operation_job u
     where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.priority = o.priority and q.priority_name is null
       and q.state in ('held', 'blocked', 'scheduled', 'ready');
    get diagnostics n = row_count;
  else
    update bellhop.jobqueue q set state = case when u.held then 'held' when q.run_at > clock_timestamp() then 'scheduled' else 'ready' end,
           ended_at = null, cancel_requested = false, cancel_now = false, killed_by = null, behind = null
      from bellhop.operation_job u
     where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.state = 'cancelled' and q.ended_at = u.ended_at
       and u.state in ('held', 'scheduled', 'ready') and q.run is null
       and not exists (select from bellhop.dependency d where d.needs = q.id)
       and not exists (select from bellhop.dependency d where d.job = q.id and not d.met)
       and coalesce(q.key not like '%#' || q.id, true)
       and not exists (select from bellhop.attached x where x.job = q.id);
    get diagnostics n = row_count;
  end if;
  update bellhop.operation x set state = 'undone', undone = n where x.id = o.id;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ordinal(n bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select n || case when n % 100 between 11 and 13 then 'th' when n % 10 = 1 then 'st' when n % 10 = 2 then 'nd' when n % 10 = 3 then 'rd' else 'th' end
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
                  and (d.not_after is null or d.not_after > clock_timestamp())
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
                                                else j.state in ('assigned', 'running')
                                                     or j.state in ('ready', 'held') and exists (select from bellhop.engine_job e -- it runs on an engine, and its next watcher is to come
                                                                  where e.job = j.id and e.state in ('submitting', 'running') and e.attempt = j.attempt + 1) end))
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
    -- Running jobs that wait for it come first. What an idle turn is, is said here and not asked of idle_turn: a function in SQL
    -- is planned anew for each statement that calls it.
    alive := array(select g.mode from bellhop.lock_grant g
                    where g.level = k.level and g.name = k.name
                      and not (g.mode = 'turn' and g.since < clock_timestamp() - interval '2 s')
                   union all select w.mode from bellhop.lock_waiting w where w.level = k.level and w.name = k.name);
    idle := array(select j.type from bellhop.lock_grant g join bellhop.jobqueue j on j.id = g.job
                   where g.level = k.level and g.name = k.name and g.mode = 'turn' and g.since < clock_timestamp() - interval '2 s');
    places := case when k.level in ('rate-limit', 'filter') then bellhop.lock_places(k.level, k.name) end - cardinality(alive);
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

CREATE OR REPLACE FUNCTION bellhop.passed_back(root bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  jobs bigint[];
begin
  jobs := array(
    with recursive over (id) as (
      select passed_back.root
      union
      select j.id
        from over o
        join bellhop.dependency d on d.needs = o.id and not d.met
        join bellhop.jobqueue j on j.id = d.job
       where j.ended_by = passed_back.root and j.ended_as = 'skipped' and j.state = 'succeeded'
    )
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select o.id from over o)) and j.id <> passed_back.root and j.ended_as = 'skipped'
     order by j.id for update);
  if jobs = '{}' then
    return jobs;
  end if;
  update bellhop.jobqueue j
     set state = 'ready', ended_at = null, ended_as = null, ended_by = null,
         not_after = case when j.not_after > clock_timestamp() then j.not_after end
   where j.id = any (jobs);
  update bellhop.dependency d set counted = false where d.job = any (jobs) and not d.met;
  perform bellhop.ended(w.failed) from bellhop.resolve(jobs, false) w;
  perform pg_notify('bellhop_due', '');
  return jobs;
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
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select count(*)::integer, max(p.job)
    from bellhop.prune_jobs(null, clock_timestamp() - older_than, states, past, most, rjm, false) p
$function$;

CREATE OR REPLACE FUNCTION bellhop.prune_into(archive text, since timestamp with time zone, until timestamp with time zone, states text[], past bigint, most integer, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if (select count(*) from pg_attribute a
       where a.attrelid = to_regclass(archive) and (a.attname, format_type(a.atttypid, null)) in (('job', 'bigint'), ('row', 'jsonb'))) <> 2
     or to_regclass(archive) is null then
    raise invalid_parameter_value using message = format('there is no table %s (job bigint, "row" jsonb) for the archive', archive),
      hint = format('create table %s (job bigint, "row" jsonb)   -- its schema is part of the name', archive);
  end if;
  execute format($q$with gone as materialized (select p.job, p."row" from bellhop.prune_jobs($1, $2, $3, $4, $5, false, true) p),
                         kept as (insert into %s (job, "row") select g.job, g."row" from gone g)
                    select count(*)::integer, max(g.job) from gone g where not g."row" ? 'messages'$q$, to_regclass(archive))
    into deleted, last using since, until, states, past, most;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.prune_jobs(since timestamp with time zone, until timestamp with time zone, states text[], past bigint, most integer, rjm boolean, whole boolean)
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  ids  bigint[];
  runs bigint[];
begin
  ids := array(select j.id from bellhop.jobqueue j
                left join bellhop.run r on r.id = j.run
                where j.id > past and j.state = any (states) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                  and (prune_jobs.until is null or j.ended_at < prune_jobs.until)
                  and (prune_jobs.since is null or coalesce(r.ended_at, j.ended_at) >= prune_jobs.since)
                  and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                   where d.needs = j.id and not d.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                  and not exists (select from bellhop.attached x where x.job = j.id and x.live)
                  and not exists (select from bellhop.rjm f where f.job = j.id and f.state <> 'old' and j.state = 'succeeded')
                  -- The dummies of a run stay with it, and a run while it is not over, or could go on.
                  and (j.run is null or j.step is not null
                                        and (r.id is null or r.ended_at is not null and (prune_jobs.until is null or r.ended_at < prune_jobs.until)))
                  and (not prune_jobs.rjm or exists (select from bellhop.rjm f where f.job = j.id))
                order by j.id limit most
                  for update of j skip locked);
  if whole then
    return query select a.job, a."row" from bellhop.as_archived(ids) a;
  else
    return query select i, null::jsonb from unnest(ids) i;
  end if;
  perform bellhop.jobs_forgotten(ids);
  if not prune_jobs.rjm then
    runs := array(select r.id from bellhop.run r
                   where r.ended_at is not null and (prune_jobs.until is null or r.ended_at < prune_jobs.until)
                     and (prune_jobs.since is null or r.ended_at >= prune_jobs.since)
                     and not exists (select from bellhop.dependency d where d.job = r.last)
                   order by r.ended_at limit most for update of r skip locked);
    if whole then
      return query select a.job, a."row" from bellhop.runs_as_archived(runs) a;
    end if;
    perform bellhop.runs_forgotten(runs);
  end if;
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
    when not (new.type <> '' and octet_length(new.type) <= 500) then 'type_named' -- indexes hold it beside a lock's name
    when not (new.vars is null or (jsonb_typeof(new.vars) = 'object'
              and not jsonb_path_exists(new.vars, 'strict $.* ? (@.type() != "string")'))) then 'vars_are_strings'
  end;
  if rule is null then
    return new;
  end if;
  raise check_violation using
    message = format('new row for relation "jobqueue" violates check constraint "jobqueue_%s"', rule),
    constraint = 'jobqueue_' || rule, table = 'jobqueue', schema = 'bellhop',
    hint = case rule when 'type_named' then 'A type has 1 to 500 bytes. Write a shorter one, and the rest into args.' else '' end;
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

CREATE OR REPLACE FUNCTION bellhop.refuse_names_of_sensors(sensor jsonb, event text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  what text;
begin
  what := case
    when event ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$' then 'slots'
    when event ~ '^run=\d+(/\d+)?$' then 'ends of runs'
    when event ~ '^http=' then 'requests (bellhop.workflow_http)'
    when event ~ '^(notify|file|kafka)=\d+$' then 'events without a name of their own'
    when sensor ? 'table' and starts_with(event, (sensor ->> 'table') || '=') then 'rows of its table'
    when sensor ? 'file' and starts_with(event, '/') then 'files'
    when sensor ? 'kafka' and starts_with(event, (sensor ->> 'topic') || '/') then 'records of its topic'
    when strpos(event, '=') > 0 and exists (
           select from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
            where t.tgfoid = 'bellhop.row_event'::regproc and starts_with(event, n.nspname || '.' || c.relname || '='))
      then 'rows of a table' end;
  if what is not null then
    raise invalid_parameter_value using message = format('an event cannot be called %s: so are %s, and nobody else says that these have happened', event, what),
      hint = 'Give it a name of your own, as in: order 4711';
  end if;
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
    select j.id from bellhop.jobqueue j join way w on w.id = j.id where (j.state = 'held' or j.held and j.state in ('blocked', 'scheduled', 'ready')) and bellhop.may_change(j.submitted_by)
       -- A run that waits until its workflow is active again (bellhop.runs_wait) does not begin by this.
       and not exists (select from bellhop.run r where r.id = j.run and r.gate = j.id and r.state = 'queued' and r.reason is not null)
     order by j.id for no key update of j
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
      select d.job, d.needs, n.state = any (d.wanted) and not x.skips as good, x.skips
        from bellhop.dependency d
        join bellhop.jobqueue n on n.id = d.needs
       cross join lateral (select coalesce(n.ended_as = 'skipped' and d.wanted <@ '{succeeded}', false) as skips) x
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
             min(e.needs) filter (where not e.good and not e.skips and c.on_failure <> 'run') as bad,
             bool_or(not e.good and not e.skips and c.on_failure = 'fail' and not c.held) as fails,
             min(e.needs) filter (where e.skips and c.on_failure <> 'run' and not c.held) as skips
        from edge e join child c on c.id = e.job
       group by e.job
    ), moved as (
      update bellhop.jobqueue j
         set unmet = case when not v.fails and v.skips is null then nullif(j.unmet - v.met, 0) end,
             state = case when j.state not in ('held', 'blocked') then j.state -- changed by hand
                          when v.fails then 'failed'
                          when v.skips is not null then 'succeeded'
                          when j.state = 'held' or j.unmet > v.met then j.state
                          when j.run_at > clock_timestamp() then 'scheduled'
                          else 'ready' end,
             waiting_for = case when v.fails or v.skips is not null then null
                                when v.bad is not null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                                when j.unmet > v.met then j.waiting_for end,
             ended_at = case when v.fails or v.skips is not null then clock_timestamp() end,
             ended_as = case when not v.fails and v.skips is not null then 'skipped' end,
             error = case when v.fails then (bellhop.unmet_because(v.bad)).why end,
             ended_by = case when v.fails then (bellhop.unmet_because(v.bad)).root
                             when v.skips is not null then (bellhop.unmet_because(v.skips)).root end
        from verdict v
       where j.id = any (array(select x.job from verdict x)) and j.id = v.job
      returning j.id, j.state
    )
    select coalesce(array_agg(m.id) filter (where m.state in ('failed', 'succeeded')), '{}'),
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
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over, n.ended_as is not distinct from 'skipped' as skips
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  )
  update bellhop.dependency d
     set met = d.met or coalesce(n.over and (n.state = any (o.wanted) and not (n.skips and o.wanted <@ '{succeeded}') or j.on_failure = 'run'),
                                 n.id is null and j.on_failure = 'run'),
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
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over, n.ended_as is not distinct from 'skipped' as skips
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  ), verdict as (
    -- One that has ended well since the statement above is not met yet, and whoever ended it counts it, or is looked after.
    select w.id as job, count(o.job) as unmet, min(o.needs) filter (where coalesce(n.over and n.state <> all (o.wanted), true)) as bad,
           min(o.needs) filter (where n.over and n.skips and o.wanted <@ '{succeeded}') as skips
      from unnest(jobs) as w (id)
      left join open o on o.job = w.id
      left join other n on n.id = o.needs
     group by w.id
  ), moved as (
    update bellhop.jobqueue j
       set unmet = case when f.over is null then nullif(v.unmet, 0) end,
           state = case when j.held then 'held'
                        when f.over is not null then f.over
                        when v.unmet > 0 then 'blocked'
                        when j.run_at > clock_timestamp() then 'scheduled'
                        else 'ready' end,
           waiting_for = case when v.bad is not null and f.over is null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                              when v.unmet > 0 and v.bad is null and not j.held and f.over is null then 'dependencies' end,
           ended_at = case when f.over is not null then clock_timestamp() end,
           ended_as = case when f.over = 'succeeded' then 'skipped' end,
           error = case when f.over = 'failed' then (bellhop.unmet_because(v.bad)).why end,
           ended_by = case f.over when 'failed' then (bellhop.unmet_because(v.bad)).root when 'succeeded' then (bellhop.unmet_because(v.skips)).root end
      from verdict v
      join bellhop.jobqueue o on o.id = v.job
     cross join lateral (select case when o.held then null
                                     when v.bad is not null and o.on_failure = 'fail' then 'failed'
                                     when v.skips is not null and o.on_failure <> 'run' then 'succeeded' end as over) f
     where j.id = any (jobs) and o.id = any (jobs) and j.id = v.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.state
  )
  select coalesce(array_agg(m.id) filter (where m.state in ('failed', 'succeeded')), '{}'), count(*) filter (where m.state = 'ready')
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

CREATE OR REPLACE FUNCTION bellhop.retain_jobs(past bigint, most integer, types text[], states text[], ages bigint[], keyed bigint, archive text, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ids    bigint[];
  oldest timestamptz;
begin
  select max(w.id), min(w.created_at) into last, oldest
    from (select j.id, j.created_at from bellhop.jobqueue j where j.id > past order by j.id limit most) w;
  deleted := 0;
  if last is null then
    return;
  end if;
  ids := array(
    select j.id
      from bellhop.jobqueue j
      cross join lateral (select r.age from unnest(types, states, ages) as r (type, state, age)
                           where r.state = j.state and r.type in ('', j.type) order by r.type = '' limit 1) rule
     where j.id > past and j.id <= last and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and j.run is null
       and j.ended_at < clock_timestamp() - rule.age * interval '1 ms'
       and (j.key is null or j.ended_at < clock_timestamp() - keyed * interval '1 ms')
       and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                        where d.needs = j.id and not d.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
       and not exists (select from bellhop.attached x where x.job = j.id and x.live)
       and not exists (select from bellhop.rjm r where r.job = j.id)
     order by j.id
       for update of j skip locked);
  perform bellhop.archived(ids, archive, false);
  deleted := bellhop.jobs_forgotten(ids);
  -- Jobs come about in the order of their ids, give or take a transaction: an hour.
  if oldest > clock_timestamp() - (select min(a) from unnest(ages) a) * interval '1 ms' + interval '1 h' then
    last := null;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retain_runs(states text[], ages bigint[], most integer, archive text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  rule record;
  ids  bigint[];
  n    integer := 0;
begin
  for rule in select u.state, clock_timestamp() - u.age * interval '1 ms' as before from unnest(states, ages) u (state, age) where u.age is not null loop
    ids := array(
      select j.id
        from bellhop.run r join bellhop.dependency d on d.job = r.last join bellhop.jobqueue j on j.id = d.needs
       where r.state = rule.state and r.ended_at < rule.before and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
         and not exists (select from bellhop.dependency x join bellhop.jobqueue c on c.id = x.job
                          where x.needs = j.id and not x.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
       order by r.ended_at, j.id limit most
         for update of j skip locked);
    perform bellhop.archived(ids, archive, false);
    n := n + bellhop.jobs_forgotten(ids);
    ids := array(select r.id from bellhop.run r
                  where r.state = rule.state and r.ended_at < rule.before and not exists (select from bellhop.dependency d where d.job = r.last)
                  order by r.ended_at limit most for update of r skip locked);
    perform bellhop.archived(ids, archive, true);
    perform bellhop.runs_forgotten(ids);
    n := n + cardinality(ids);
  end loop;
  if n = 0 and cardinality(ages) > 0 and array_position(ages, null) is null then
    delete from bellhop.workflow_past p
     where p.workflow = any (array(select x.workflow from bellhop.workflow_past x
                                    where x.what = 'deleted' and x.changed_at < clock_timestamp() - (select max(a) from unnest(ages) a) * interval '1 ms'))
       and not exists (select from bellhop.workflow_past x where x.workflow = p.workflow
                          and x.changed_at >= clock_timestamp() - (select max(a) from unnest(ages) a) * interval '1 ms')
       and not exists (select from bellhop.workflow w where w.name = p.workflow)
       and not exists (select from bellhop.run r where r.workflow = p.workflow);
  end if;
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retention_begin(me bigint, every interval)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update bellhop.housekeeping h
     set instance = me, until = clock_timestamp() + interval '1 min', begun_at = clock_timestamp(), deleted = 0
   where (h.instance is null or h.until < clock_timestamp()
          or not exists (select from bellhop.instance i where i.id = h.instance and i.state = 'live'))
     and (h.begun_at is null or h.begun_at <= clock_timestamp() - every
          or h.instance is not null); -- a pass that nobody has ended
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.retention_goes_on(me bigint, more bigint, over boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  update bellhop.housekeeping h
     set until = clock_timestamp() + interval '1 min', deleted = h.deleted + more,
         instance = case when not over then me end, ended_at = case when over then clock_timestamp() else h.ended_at end
   where h.instance = me;
  return found;
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
  back   bigint[] := '{}';
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
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null, ended_as = null,
         items_total = null, items_done = null, items_failed = null, result = null, progress = null, progress_text = null,
         locks = coalesce(j.locks, case when j.type not in ('command', 'dummy') and exists (select from bellhop.filter) then '{}'::text[] end) -- the next pass asks them
   where j.id = retry.id;
  perform bellhop.unwanted_remote(retry.id);
  if exists (select from bellhop.dependency d where d.job = retry.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[retry.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  if was.ended_as = 'skipped' then
    back := bellhop.passed_back(retry.id);
  end if;
  if was.run is not null then
    perform bellhop.step_again(was.run, was.id || back);
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

CREATE OR REPLACE FUNCTION bellhop.retry_behind(id bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  most   constant integer := 1000;
  these  bigint[];
  todo   bigint[];
  next   bigint[];
  one    bigint;
  was    text;
  n      integer;
begin
  perform bellhop.refuse_but_operators('retry jobs and those behind them');
  select j.state into was from bellhop.jobqueue j where j.id = retry_behind.id;
  if was is null then
    return null;
  elsif was not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    raise object_not_in_prerequisite_state using message = format('job %s is %s: only a job that is over gets a new attempt', retry_behind.id, was),
      hint = format('bellhop wait %s   or: bellhop cancel %1$s', retry_behind.id);
  end if;
  -- Without what only ends a run: that goes by its steps (step_again).
  these := array(
    with recursive down (id) as (
      select retry_behind.id
      union
      select d.job from down b join bellhop.dependency d on d.needs = b.id
    )
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select x.id from (select w.id from down w limit most + 100) x)) and not (j.type = 'dummy' and j.run is not null and j.step is null)
     order by j.id for update);
  if cardinality(these) > most then
    raise program_limit_exceeded using message = format('more than %s jobs are behind job %s', most, retry_behind.id),
      hint = 'Retry those that failed, by a filter: bellhop retry -s failed -t TYPE';
  end if;
  select j.id, j.state into one, was from bellhop.jobqueue j
   where j.id = any (these) and (j.state in ('assigned', 'running') or j.state in ('held', 'scheduled', 'ready') and j.unmet is null)
   order by j.id limit 1;
  if found then
    raise object_not_in_prerequisite_state using message = format('job %s is %s, with what it has got from jobs that were to be tried again', one, was),
      hint = format('bellhop wait %s   or: bellhop cancel %1$s', one);
  end if;
  todo := array(select j.id from bellhop.jobqueue j where j.id = any (these) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'));
  n := cardinality(todo);
  update bellhop.dependency d set met = false, counted = false where d.needs = any (todo) and d.job = any (these);
  while todo <> '{}' loop -- whoever is needed comes first: one that found it over would be over at once
    next := array(select t from unnest(todo) t
                   where not exists (select from bellhop.dependency d where d.job = t and d.needs = any (todo)) order by t);
    if next = '{}' then
      raise object_not_in_prerequisite_state using message = 'these jobs need one another';
    end if;
    foreach one in array next loop
      perform bellhop.retry(one);
    end loop;
    todo := array(select t from unnest(todo) t where t <> all (next));
  end loop;
  next := array(select j.id from bellhop.jobqueue j
                 where j.id = any (these) and j.state in ('held', 'blocked')
                   and exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
  if next <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.resolve(next, false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  return n;
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

CREATE OR REPLACE FUNCTION bellhop.rjm_setup(id text, config text, prio text DEFAULT 'n'::text, blocks text[] DEFAULT '{}'::text[], files text[] DEFAULT '{}'::text[], inside bigint DEFAULT NULL::bigint, locks text[] DEFAULT NULL::text[])
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

  new_id := bellhop.submit(split_part(rjm_setup.id, '.', 1), key => rjm_setup.id, priority_name => prio, held => true, on_failure => 'block', locks => rjm_setup.locks,
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

CREATE OR REPLACE FUNCTION bellhop.role_for(login text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when not r.rolsuper and r.rolname <> bellhop.caller() and pg_has_role(bellhop.caller(), r.oid, 'member')
         and exists (select from pg_roles m where m.rolname in ('bellhop_submitter', 'bellhop_reader', 'bellhop_operator') and pg_has_role(r.oid, m.oid, 'member')) then r.rolname::text
    when pg_has_role(r.oid, (select c.relowner from pg_class c where c.oid = 'bellhop.jobqueue'::regclass), 'member') then 'bellhop_operator'
    else (select m.rolname::text from pg_roles m where m.rolname in ('bellhop_operator', 'bellhop_reader') and pg_has_role(r.oid, m.oid, 'member') order by m.rolname limit 1)
  end
  from pg_roles r where r.rolname = role_for.login
$function$;

CREATE OR REPLACE FUNCTION bellhop.row_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION bellhop.row_job_key(name text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when length(name) + length(key) < 900 then name || '/' || key else left(name || '/' || key, 900) || '…' || md5(key) end
$function$;

CREATE OR REPLACE FUNCTION bellhop.row_named(source text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when length(x.name) <= 200 then x.name else left(x.name, 160) || ' ' || md5(x.name) end from (select source || '=' || key) x (name)
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
  door   bigint;
  ending integer;
  rung   boolean := false;
begin
  update bellhop.run r
     set state = run_ended.state, reason = run_ended.reason, ended_at = clock_timestamp(), started_at = coalesce(r.started_at, clock_timestamp()),
         endings = r.endings + 1
   where r.id = run_ended.id and r.state in ('queued', 'running')
  returning r.workflow, r.gate, r.endings into called, door, ending;
  if not found then
    return;
  end if;
  if door is not null then -- it never began, and its steps were cancelled: nobody would let its gate go
    update bellhop.jobqueue j set state = 'cancelled', held = false, unmet = null, waiting_for = null, ended_at = clock_timestamp()
     where j.id = any (array(select q.id from bellhop.jobqueue q where q.id = door and q.state = 'held' for update skip locked));
  end if;
  perform bellhop.end_told(run_ended.id, called, run_ended.state, run_ended.reason);
  if not exists (select from bellhop.sensor) then
    return;
  end if;
  insert into bellhop.event (workflow, event)
  select s.workflow, 'run=' || run_ended.id || case when ending > 1 then '/' || ending else '' end -- each end is an event
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

CREATE OR REPLACE FUNCTION bellhop.run_of_event(w bellhop.workflow, event text, at timestamp with time zone, given jsonb, safely boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  most   integer := coalesce((w.definition -> 'sensor' ->> 'at_most')::integer, 0);
  called text := bellhop.sensor_kind(w.definition);
  starts timestamptz[];
  r      bigint;
  why    text;
begin
  if most = 0 or called in ('cron', 'every') then
    return bellhop.make_run_or_say(w, event, at, given, true, safely);
  end if;
  select s.recent into starts from bellhop.sensor s where s.workflow = w.name;
  if starts[most] > clock_timestamp() - (w.definition -> 'sensor' ->> 'per')::interval then
    insert into bellhop.run (workflow, version, event, triggered_by, state, parameters, ended_at, reason)
    values (w.name, w.version, event, 'sensor ' || called, 'skipped', given, clock_timestamp(),
            format('its sensor has started it %s times in the last %s', most, w.definition -> 'sensor' ->> 'per'))
    returning id, reason into r, why;
    perform bellhop.end_told(r, w.name, 'skipped', why);
    return r;
  end if;
  r := bellhop.make_run_or_say(w, event, at, given, true, safely);
  update bellhop.sensor s set recent = (array[clock_timestamp()] || s.recent)[1:most]
   where s.workflow = w.name and not exists (select from bellhop.run x where x.id = r and x.state = 'skipped');
  return r;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_as_archived(ids bigint[])
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select r.last, jsonb_build_object('run', to_jsonb(r),
           'event', (select to_jsonb(e) from bellhop.event e where e.workflow = r.workflow and e.event = r.event and e.run = r.id),
           'messages', (select coalesce(jsonb_agg(to_jsonb(n) order by n.id), '[]') from bellhop.notice n where n.run = r.id and n.status <> 'waiting'))
    from bellhop.run r where r.id = any (ids)
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_forgotten(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if ids = '{}' then
    return;
  end if;
  delete from bellhop.jobqueue j where j.id = any (array(select x from bellhop.run r, unnest(array[r.gate, r.last]) x where r.id = any (ids)));
  delete from bellhop.event e using bellhop.run r where r.id = any (ids) and e.workflow = r.workflow and e.event = r.event and e.run = r.id;
  delete from bellhop.notice n where n.run = any (ids) and n.status <> 'waiting'; -- what is still to be sent says itself how it was
  delete from bellhop.run r where r.id = any (ids);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_go_on(called text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  waiting bigint[] := array(select r.id from bellhop.run r where r.workflow = called and r.state = 'queued' and r.reason is not null order by r.id);
  gates   bigint[] := array(select r.gate from bellhop.run r where r.id = any (waiting));
  newest  bigint;
begin
  if waiting = '{}' then
    return;
  end if;
  select r.last into newest from bellhop.run r
   where r.workflow = called and r.state in ('queued', 'running') and r.id <> all (waiting) order by r.id desc limit 1;
  if newest is not null then -- before rows are locked: who adds a need to a job that is there takes a turn first
    insert into bellhop.dependency (job, needs, wanted)
    select j.id, newest, '{succeeded,failed,cancelled,quarantined}' from bellhop.jobqueue j where j.id = any (gates) and j.state = 'held'
    on conflict do nothing;
  end if;
  perform from bellhop.jobqueue j where j.id = any (gates) order by j.id for no key update;
  update bellhop.jobqueue j set held = false, state = case when j.unmet is not null then 'blocked' else 'ready' end
   where j.id = any (gates) and j.state = 'held';
  update bellhop.run r set reason = null where r.id = any (waiting) and r.state = 'queued';
  perform bellhop.ended(w.failed) from bellhop.resolve(gates, false) w; -- what they needed may be over since
  perform bellhop.pass_dummies();
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
  none text;
begin
  for x in
    select r.*, r.last = any (dummies) as over from bellhop.run r
     where r.id = any (array(select j.run from bellhop.jobqueue j where j.id = any (dummies) and j.run is not null))
     order by r.id
  loop
    if not coalesce(x.over, false) then
      update bellhop.run r set state = 'running', started_at = clock_timestamp() where r.id = x.id and r.state = 'queued';
      continue;
    end if;
    select format('step %s %s (job %s)', j.step, case j.state when 'failed' then 'failed' else 'was ' || j.state end, j.id) into ends
      from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
     where d.job = x.last and j.state <> 'succeeded'
     order by j.ended_by is not null, j.id limit 1;
    -- A run of which no step had anything to do was not one: nobody is told that it succeeded, and no other workflow starts by it.
    select format('no step had anything to do: step %s (job %s) said %s', min(j.step) filter (where j.id = f.id), f.id,
                  min(replace(j.ended_as, '_', ' ')) filter (where j.id = f.id)) into none
      from bellhop.dependency d join bellhop.jobqueue j on j.id = d.needs
     cross join lateral (select min(q.needs) as id from bellhop.dependency q where q.job = x.last) f
     where ends is null and d.job = x.last
     group by f.id having bool_and(j.ended_as is not null);
    perform bellhop.run_ended(x.id, case when ends is not null then 'failed' when none is not null then 'skipped' else 'succeeded' end, coalesce(ends, none));
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.runs_wait(called text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  waiting bigint[];
begin
  with locked as materialized ( -- a gate that passes just now is not among them: its run has begun
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select r.gate from bellhop.run r where r.workflow = called and r.state = 'queued'))
       and j.state in ('held', 'blocked', 'scheduled', 'ready')
     order by j.id for no key update
  ), held as (
    update bellhop.jobqueue j set held = true, state = 'held', waiting_for = null from locked l where j.id = l.id returning j.run
  )
  select array_agg(h.run) into waiting from held h;
  update bellhop.run r set reason = 'its workflow is not active' where r.id = any (waiting) and r.state = 'queued';
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sees(watches jsonb, called text, sensor jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when sensor ? 'notify' then coalesce(watches ? 'notify', false)
    when sensor ? 'kafka' then coalesce(watches -> 'kafka' ? (sensor ->> 'kafka'), false)
    when sensor ? 'file' then coalesce(sensor ->> 'host', called) = called
      and exists (select from jsonb_array_elements_text(coalesce(watches -> 'files', '[]')) r
                   where starts_with(sensor ->> 'file', rtrim(r, '/') || '/'))
    else true end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_events(instance bigint, called text, events text[], given jsonb[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  d jsonb;
  k text;
  n integer;
begin
  select w.definition into d from bellhop.workflow w
   where w.name = called and w.active and w.instance = sensor_events.instance
     and exists (select from bellhop.instance i where i.id = sensor_events.instance and i.state = 'live')
     for share;
  if not found then
    return null;
  end if;
  k := bellhop.sensor_kind(d);
  insert into bellhop.event (workflow, event, parameters)
  select called, coalesce(e.event, k || '=' || nextval('bellhop.event_number')), bellhop.sensor_parameters(d, e.given)
    from unnest(events, sensor_events.given) with ordinality e (event, given, n) order by e.n
  on conflict do nothing;
  get diagnostics n = row_count;
  if n > 0 then
    perform pg_notify('bellhop_due', '');
  end if;
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_failing(instance bigint, called text, why text)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  update bellhop.sensor s
     set problem = left(why, 2000), since = case when why is not null then coalesce(s.since, clock_timestamp()) end,
         lag = case when why is null then s.lag end
    from bellhop.workflow w
   where s.workflow = called and w.name = called and w.instance = sensor_failing.instance and s.problem is distinct from left(why, 2000)
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_faults(s jsonb, workflow text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  kinds  constant text[] := '{cron,every,workflow,table,notify,http,file,kafka}';
  clocks constant text[] := '{every,workflow,table,notify,http,file,kafka}';
  is_of  text[] := array(select k from unnest(kinds) with ordinality x (k, n) where s -> k not in ('null', 'false') order by n);
  kind   text := is_of[1];
  fault  text;
begin
  if cardinality(is_of) <> 1 then
    return next format('the sensor has %s; it has one of cron, every, workflow, table, notify, http, file and kafka',
                       coalesce(nullif(array_to_string(is_of, ' and '), ''), 'nothing that would start it'));
    return;
  end if;
  return query
    select format('%s belongs to a sensor of the kind %s, and this is one of %s; leave it out', b.field, array_to_string(b.kinds, ' or '), kind)
      from (values (1, 'zone', '{cron}'::text[]), (2, 'after_finish', '{every}'), (3, 'at_most', clocks), (4, 'per', clocks), (5, 'when', '{workflow}'),
                   (6, 'event', '{table,notify,http,file}'), (7, 'host', '{file}'), (8, 'stable', '{file}'), (9, 'topic', '{kafka}'),
                   (10, 'match', '{kafka}')) b (n, field, kinds)
     where s -> b.field not in ('null', 'false', '0', '[]', '{}') and kind <> all (b.kinds) order by b.n;
  if kind = any (clocks) and (coalesce(s ->> 'at_most', '0') <> '0') <> (s ->> 'per' is not null) then
    return next 'at_most and per mean nothing without each other; write both, like at_most: 8, per: 1h';
  elsif (s ->> 'at_most')::bigint > 1000 then
    return next 'at_most cannot be more than 1000';
  end if;
  if kind = 'cron' and not coalesce(bellhop.zone_known(s ->> 'zone'), true) then
    return next format('%s is no time zone: %s; bellhop cron explain says when a schedule comes around', s -> 'zone',
      case lower(s ->> 'zone') when 'local' then 'name one, like Europe/Prague' else 'they are called like Europe/Prague, America/New_York, UTC' end);
  elsif kind = 'cron' then
    fault := bellhop.cron_fault(s ->> 'cron');
    if fault is not null then
      return next fault || '; bellhop cron explain says when a schedule comes around';
    end if;
  elsif kind = 'every' and (s ->> 'every')::interval < interval '1 second' then
    return next format('every %s is too often; write 1s or more', s ->> 'every');
  elsif kind = 'every' and extract(microseconds from (s ->> 'every')::interval)::bigint % 1000000 <> 0 then
    return next format('every %s does not fall on seconds; write whole seconds', s ->> 'every');
  elsif kind = 'workflow' and s ->> 'workflow' = workflow then
    return next 'a workflow cannot wait for itself; every: with after_finish: true starts it again';
  elsif kind = 'table' and s ->> 'table' !~ '^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")([.]([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"))?$' then
    return next format('%s is no name of a table; write it like shop.uploads', s -> 'table');
  elsif kind = 'notify' and octet_length(s ->> 'notify') > 63 then
    return next 'the name of a channel has 63 bytes at the most';
  elsif kind = 'notify' and s ->> 'notify' ~ '^bellhop(_|$)' then
    return next format('channel %s is bellhop''s own; give it a name of its own', s ->> 'notify');
  elsif kind = 'file' and (s ->> 'file' !~ '^/' or s ->> 'file' ~ '(//|/[.]{1,2}(/|$)|./$)') then
    return next format('%s is no pattern of whole paths; write it like /srv/in/*.csv', s -> 'file');
  elsif kind = 'file' and s ->> 'file' like '%**%' then
    return next '** is not known; write one * for each folder';
  elsif kind = 'kafka' and coalesce(s ->> 'topic', '') !~ '^[A-Za-z0-9._-]{1,249}$' then
    return next format('topic %s is no name of a topic; write it like {kafka: main, topic: uploads}', to_json(coalesce(s ->> 'topic', '')));
  end if;
  if kind = 'file' and s ->> 'event' not in ('path', 'version') then
    return next format('a file is not named by its %s; known are path, version', s -> 'event');
  end if;
  return query select format('no run ends as %s; known are succeeded, failed, skipped', to_json(w)) from jsonb_array_elements_text(s -> 'when') w
                where kind = 'workflow' and w not in ('succeeded', 'failed', 'skipped');
  if s ->> 'catch_up' is null then
    return;
  elsif kind not in ('cron', 'every', 'kafka') or coalesce((s ->> 'after_finish')::boolean, false) then
    return next 'there are no slots here that could be missed; leave it out';
  elsif s ->> 'catch_up' not in ('all', 'none') and (kind = 'kafka' or s ->> 'catch_up' <> 'one') then
    return next format('catch_up cannot be %s; known are %s', s -> 'catch_up', case kind when 'kafka' then 'all, none' else 'one, all, none' end);
  end if;
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
              when definition -> 'sensor' ? 'table' then 'table'
              when definition -> 'sensor' ? 'notify' then 'notify'
              when definition -> 'sensor' ? 'http' then 'http'
              when definition -> 'sensor' ? 'file' then 'file'
              when definition -> 'sensor' ? 'kafka' then 'kafka'
              else 'unknown' end
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_lag(instance bigint, called text, lag bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  update bellhop.sensor s
     set lag = sensor_lag.lag
    from bellhop.workflow w
   where s.workflow = called and w.name = called and w.instance = sensor_lag.instance and s.kind = 'kafka' and s.lag is distinct from sensor_lag.lag
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_of(called text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  select bellhop.sensor_kind(w.definition) from bellhop.workflow w where w.name = called and bellhop.is_reader()
$function$;

CREATE OR REPLACE FUNCTION bellhop.sensor_parameters(definition jsonb, given jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(jsonb_object_agg(case when definition -> 'parameters' ? g.key then g.key else upper(g.key) end, g.value), '{}')
    from jsonb_each_text(case when jsonb_typeof(given) = 'object' then given else '{}' end) g
   where g.value is not null and (definition -> 'parameters' ? g.key or definition -> 'parameters' ? upper(g.key))
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
declare
  late timestamptz; -- when the first of all is late
  own  timestamptz;
begin
  if not exists (select from bellhop.workflow w where w.active) and not exists (select from bellhop.event e where e.run is null)
     or not bellhop.starts_workflows(sensors_next.instance) then
    return null;
  elsif bellhop.unassigned() or exists (select from bellhop.event e where e.run is null)
     or exists (select from bellhop.sensor s where s.kind = 'every' and s.next_fire = 'infinity'
                   and not exists (select from bellhop.run r where r.workflow = s.workflow and r.state in ('queued', 'running'))) then
    return 0;
  end if;
  select case s.next_fire when '-infinity' then clock_timestamp() else s.next_fire end + interval '2 s' into late
    from bellhop.sensor s where s.next_fire < 'infinity' order by s.next_fire limit 1;
  if not found then
    return null;
  end if;
  select s.next_fire into own
    from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
   where s.next_fire < 'infinity' and s.next_fire < late and w.instance = sensors_next.instance
   order by s.next_fire limit 1;
  if own = '-infinity' then
    return 0;
  end if;
  return greatest(0, ceil(extract(epoch from least(own, late) - clock_timestamp()) * 1000));
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.session_of(session bytea)
 RETURNS TABLE(login text, role text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select s.login, bellhop.role_for(s.login) from bellhop.sign_in s
   where s.digest = session_of.session and not s.link and s.until >= clock_timestamp()
$function$;

CREATE OR REPLACE FUNCTION bellhop.sign_in(digest bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
begin
  if octet_length(sign_in.digest) is distinct from 32 then
    raise check_violation using message = 'a digest has 32 bytes', hint = 'bellhop ui';
  end if;
  delete from bellhop.sign_in s where s.until < clock_timestamp() or s.link and s.login = bellhop.caller();
  insert into bellhop.sign_in (digest, link, login, until)
  values (sign_in.digest, true, bellhop.caller(), clock_timestamp() + interval '2 min')
  on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.signed_in(link bytea, session bytea)
 RETURNS TABLE(login text, role text)
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with used as (
    delete from bellhop.sign_in s where s.digest = signed_in.link and s.link and s.until >= clock_timestamp() returning s.login
  ), kept as (
    insert into bellhop.sign_in (digest, link, login, until)
    select signed_in.session, false, u.login, clock_timestamp() + interval '12 hours' from used u
  ), old as ( -- the newest twenty of a login
    delete from bellhop.sign_in s
     where s.digest in (select x.digest from bellhop.sign_in x join used u on u.login = x.login where not x.link order by x.until desc offset 20)
  )
  select u.login, bellhop.role_for(u.login) from used u
$function$;

CREATE OR REPLACE FUNCTION bellhop.since(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select ' since ' || date_trunc('second', at) || ' (' || date_trunc('second', greatest(clock_timestamp() - at, interval '0')) || ')'
$function$;

CREATE OR REPLACE FUNCTION bellhop.sketch_in(what text[], names text[], buckets integer[], counts integer[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  most constant integer := 2000; -- sketch.Most
  n    integer;
begin
  if cardinality(names) is null then
    return 0;
  end if;
  insert into bellhop.sketch (what, name)
  select distinct c.what, c.name from unnest(sketch_in.what, names) as c (what, name)
   where not exists (select from bellhop.sketch s where s.what = c.what and s.name = c.name)
   order by 1, 2
  on conflict do nothing;
  if found and (select count(*) from bellhop.sketch) > 1000 then
    delete from bellhop.sketch s
     where (s.what, s.name) in (select o.what, o.name from bellhop.sketch o order by o.at desc, o.what, o.name offset 1000);
  end if;
  with come as materialized (
    select * from unnest(sketch_in.what, names, sketch_in.buckets, sketch_in.counts) as c (what, name, bucket, n)
  ), locked as materialized (
    select s.what, s.name, s.pairs from bellhop.sketch s
     where (s.what, s.name) in (select c.what, c.name from come c)
     order by s.what, s.name for no key update skip locked
  ), both_of (what, name, bucket, n) as (
    select l.what, l.name, l.pairs[g], l.pairs[g + 1] from locked l cross join lateral generate_series(1, cardinality(l.pairs), 2) as g
    union all
    select c.what, c.name, c.bucket, c.n from come c
  ), summed as (
    select b.what, b.name, b.bucket, sum(b.n)::bigint as n from both_of b group by b.what, b.name, b.bucket
  ), upto as (
    select s.what, s.name, s.bucket, sum(s.n) over (partition by s.what, s.name order by s.bucket)::bigint as n,
           sum(s.n) over (partition by s.what, s.name)::bigint as total
      from summed s
  ), halved as ( -- as often as it takes
    select u.what, u.name, u.bucket, (u.n + (1::bigint << k.k) - 1) >> k.k as n
      from upto u
     cross join lateral (select min(g) as k from generate_series(0, 60) g
                          where (u.total + (1::bigint << g) - 1) >> g <= most) k
  ), faded as (
    select h.what, h.name, h.bucket, h.n - coalesce(lag(h.n) over (partition by h.what, h.name order by h.bucket), 0) as n from halved h
  ), packed as (
    select f.what, f.name, array_agg(p.p::integer order by f.bucket, p.at) as pairs
      from faded f cross join lateral unnest(array[f.bucket, f.n]) with ordinality as p (p, at) where f.n > 0 group by f.what, f.name
  )
  update bellhop.sketch s set pairs = p.pairs, at = clock_timestamp()
    from packed p join locked l using (what, name)
   where s.what = p.what and s.name = p.name;
  get diagnostics n = row_count;
  return n;
end
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

CREATE OR REPLACE FUNCTION bellhop.step_again(run bigint, jobs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  r bellhop.run;
begin
  -- In the order in which an outcome has them (pass_dummies, run_ended): else one would wait for the other.
  perform from bellhop.jobqueue j where j.id = (select x.last from bellhop.run x where x.id = step_again.run) for no key update;
  select * into r from bellhop.run x where x.id = step_again.run for update;
  update bellhop.dependency d set met = false, counted = false where d.job = r.last and d.needs = any (step_again.jobs);
  if not found then
    return;
  end if;
  -- It ends once more, also where it ended before ends were counted.
  update bellhop.run x set state = 'running', ended_at = null, reason = null, endings = greatest(x.endings, 1) where x.id = r.id and x.state in ('succeeded', 'failed', 'skipped');
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

CREATE OR REPLACE FUNCTION bellhop.submit(type text, args text DEFAULT NULL::text, msq text DEFAULT NULL::text, repeat text DEFAULT NULL::text, run_on text DEFAULT NULL::text, key text DEFAULT NULL::text, priority integer DEFAULT 0, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, held boolean DEFAULT false, vars jsonb DEFAULT NULL::jsonb, locks text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, on_failure text DEFAULT 'fail'::text, traceparent text DEFAULT NULL::text, after bigint[] DEFAULT NULL::bigint[], after_keys text[] DEFAULT NULL::text[], wanted text[] DEFAULT '{succeeded}'::text[], once text DEFAULT 'ever'::text, per interval DEFAULT NULL::interval, replace boolean DEFAULT false, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone, batch bigint DEFAULT NULL::bigint)
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
        perform bellhop.batch_add(submit.batch, array[old.id]);
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
    elsif new_id = any (needs) then
      raise check_violation using constraint = 'dependency_no_cycle', table = 'dependency',
        message = case when new_id = any (submit.after) then format('a job cannot need itself: %s is the id of the new one', new_id)
                       else format('a job cannot need itself: %L is the key of the new one', submit.key) end,
        hint = 'Name a job that is there already: bellhop ls';
    end if;
  end if;
  if new_id is not null then
    if needs <> '{}' then
      insert into bellhop.dependency (job, needs, wanted) select new_id, n, submit.wanted from unnest(needs) n;
    end if;
    perform bellhop.batch_add(submit.batch, array[new_id]);
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
  perform bellhop.batch_add(submit.batch, array[old.id]);
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
         behind = null, waiting_for = case when j.unmet is not null then j.waiting_for end
   where j.id = old.id;
  perform bellhop.unwanted_remote(old.id);
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if old.locks is not null then
    perform pg_notify('bellhop', 'locks');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.table_sensor()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
declare
  d     jsonb;
  given jsonb := to_jsonb(new);
  key   text := given ->> tg_argv[2];
begin
  select w.definition into d from bellhop.workflow w
   where w.name = tg_argv[0] and w.active and w.definition -> 'sensor' ->> 'table' = tg_argv[1];
  if not found then
    return null;
  elsif key is null then
    raise warning 'a row of % starts no run of workflow %: it has nothing in column %', tg_table_name, tg_argv[0], tg_argv[2];
    return null;
  end if;
  perform bellhop.happened(tg_argv[0], bellhop.row_named(tg_argv[1], key), bellhop.sensor_parameters(d, given));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.table_watched(called text, sensor jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (select from pg_trigger t
                  where t.tgrelid = bellhop.watched_table(sensor ->> 'table') and t.tgname = 'bellhop_sensor_' || left(md5(called), 16))
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
    update bellhop.event v set run = bellhop.run_of_event(e.whole, e.event, e.at, e.parameters, safely)
     where v.workflow = e.workflow and v.event = e.event;
    update bellhop.sensor s set fired_at = clock_timestamp() where s.workflow = e.workflow;
    n := n + 1;
  end loop;
  -- Those of a workflow that was deleted just when they came: nobody would ever see to them, and everybody look for them.
  delete from bellhop.event v where v.run is null and not exists (select from bellhop.workflow w where w.name = v.workflow);
  return n;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.tells_of(tells text[], needs text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select needs = any (tells) or starts_with(needs, 'command:') and 'command:*' = any (tells)
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
             deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null, ended_as = null
       where j.id = known;
      perform bellhop.unwanted_remote(known);
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
  ), p as materialized ( -- what not all of them see
    select y.workflow, x.instance, a.able
      from bellhop.sensor y join bellhop.workflow x on x.name = y.workflow cross join lateral bellhop.able(x.definition -> 'sensor') a (able)
     where y.kind in ('notify', 'file', 'kafka') and x.active and a.able is not null
  )
  select exists (select from i) and (
         exists (select from w where w.instance is not null and not exists (select from i where i.id = w.instance))
      or exists (select from w where w.instance is null and w.n > (select count(*) from p where p.instance is null and p.able = '{}'))
      or exists (select from p where p.instance is not null and not p.instance = any (p.able))
      or exists (select from i where i.n > (select min(m.n) from i m) + 1
                    and exists (select from bellhop.workflow x
                                 where x.active and x.instance = i.id
                                   and not exists (select from p where p.workflow = x.name)
                                   and not exists (select from bellhop.run r where r.workflow = x.name and r.state in ('queued', 'running')))))
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

CREATE OR REPLACE FUNCTION bellhop.unserved(definition jsonb)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
  with live as materialized (
    select distinct a.type from bellhop.instance i left join bellhop.agent a on a.instance = i.id where i.state = 'live'
  )
  select r.* from (
    select s ->> 'type' as type, min(n) as n, case when count(*) = 1 then 'Step ' else 'Steps ' end || array_to_string((array_agg(s ->> 'name' order by n))[1:20], ', ')
             || case when count(*) = 1 then ' is' else ' are' end as steps
      from jsonb_array_elements(definition -> 'steps') with ordinality x (s, n) group by 1
  ) t cross join lateral bellhop.reason('unknown_type/step', jsonb_build_object('type', quote_literal(t.type), 'steps', t.steps, 'there', (
      select ' There are: ' || string_agg(l.type, ', ' order by l.type) || '.' from live l where l.type <> 'attachment'))) r
   where exists (select from live) and not exists (select from live l where l.type = t.type)
   order by t.n
$function$;

CREATE OR REPLACE FUNCTION bellhop.unwanted_remote(job bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  update bellhop.engine_job e set state = 'killing', changed_at = clock_timestamp()
   where e.job = unwanted_remote.job and e.state in ('submitting', 'running', 'ended')
$function$;

CREATE OR REPLACE FUNCTION bellhop.value_fault(v jsonb, place text, wants text, example text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case
    when wants in ('word', 'text') and v = 'null' then place || ' has no value; leave it out, or write "" for an empty one'
    when wants in ('word', 'text') and jsonb_typeof(v) <> 'string'
      then format('%s must be a string, not %s%s', place, bellhop.json_kind(v), case when jsonb_typeof(v) not in ('object', 'array') then '; put it in quotes' else '' end)
    when wants = 'word' and v #>> '{}' ~ '^\s*$' then place || ' is empty'
    when wants = 'flag' and jsonb_typeof(v) <> 'boolean' then format('%s must be true or false, not %s', place, bellhop.json_kind(v))
    when wants in ('list', 'words') and jsonb_typeof(v) <> 'array' then format('%s must be a list, not %s; %s', place, bellhop.json_kind(v), example)
    when wants = 'pairs' and jsonb_typeof(v) <> 'object' then format('%s must hold names and values, not %s; %s', place, bellhop.json_kind(v), example)
    when wants in ('whole', 'count') and jsonb_typeof(v) <> 'number' then format('%s must be a whole number, not %s', place, bellhop.json_kind(v))
    when wants in ('whole', 'count') and v #>> '{}' ~ '[.eE]' then format('%s must be a whole number, not %s', place, v #>> '{}')
    when wants = 'count' and (v #>> '{}')::numeric < 0 then format('%s is %s; write 0 or more', place, v #>> '{}')
    when wants in ('whole', 'count') and abs((v #>> '{}')::numeric) > 2147483647 then format('%s is %s, which is too much', place, v #>> '{}')
    when wants = 'long' and jsonb_typeof(v) = 'number' then format('%s is %s without a unit; write %2$ss, %2$sm or %2$sh', place, v #>> '{}')
    when wants = 'long' and jsonb_typeof(v) <> 'string' then format('%s must be a duration, not %s; write it like 10s, 15m or 1h30m', place, bellhop.json_kind(v))
    when wants = 'long' and v #>> '{}' !~ '^([-+]?(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$'
      then format('%s: %s is no duration; write it like 10s, 15m or 1h30m', place, v)
    when wants = 'long' and v #>> '{}' !~ '[1-9]' then format('%s must be more than nothing; write it like 10s, 15m or 1h30m', place)
    when wants = 'long' and v #>> '{}' like '-%' then format('%s is negative (%s)', place, v #>> '{}')
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

CREATE OR REPLACE FUNCTION bellhop.waited_for(most integer, beyond text DEFAULT ''::text)
 RETURNS TABLE(behind text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with recursive l as (
    (select coalesce(j.behind, '') as behind, 1 as n from bellhop.jobqueue j
      where coalesce(j.behind, '') > waited_for.beyond and j.state = 'ready' and not j.held and j.locks is not null
      order by coalesce(j.behind, '') limit 1)
    union all
    select (select coalesce(j.behind, '') from bellhop.jobqueue j
             where coalesce(j.behind, '') > l.behind and j.state = 'ready' and not j.held and j.locks is not null
             order by coalesce(j.behind, '') limit 1), l.n + 1
      from l where l.behind is not null and l.n < most
  )
  select l.behind from l where l.behind is not null
$function$;

CREATE OR REPLACE FUNCTION bellhop.wanted_locks(locks text[], waiting_for text, behind text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select wanted_locks.locks || coalesce(substring(wanted_locks.waiting_for from '^lock_held: (.*), and job [0-9]+ has '),
    case split_part(wanted_locks.behind, ':', 1) when '' then null when 'big' then 'big' else wanted_locks.behind || '=exclusive' end)
$function$;

CREATE OR REPLACE FUNCTION bellhop.watch_table(called text, old jsonb, new jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET lock_timeout TO '10s'
AS $function$
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
    raise insufficient_privilege using message = format('permission denied: %I, who owns bellhop, may not put a trigger on table %s', current_user, tab),
      hint = format('As its owner: grant trigger on %s to %I, and usage on its schema.', tab, current_user);
  end;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.watched(instance bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select bit_xor(hashtextextended(w.name || ' ' || w.instance, w.version))
    from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
   where s.kind in ('notify', 'file', 'kafka') and w.active and w.instance = watched.instance
$function$;

CREATE OR REPLACE FUNCTION bellhop.watched_table(named text)
 RETURNS regclass
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select to_regclass(case when named ~ '^("[^"]+"|[^".]+)\.' then named else 'public.' || named end)
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
  called text;
  kept   jsonb;
  live   boolean;
  o      bellhop.workflow;
  r      record;
begin
  perform bellhop.refuse_but_operators('change workflows');
  if faults <> '{}' then
    raise check_violation using
      message = 'this is no definition of a workflow: ' || array_to_string(faults[1:20], e'\n')
        || case when cardinality(faults) > 20 then format(e'\n… and %s more', cardinality(faults) - 20) else '' end,
      hint = 'Mend that: nothing was changed. docs/workflows.md has what stands in one; bellhop workflow apply FILE   says line and column.';
  end if;
  called := workflow_apply.definition ->> 'workflow';
  kept := jsonb_strip_nulls(workflow_apply.definition) - 'workflow' - 'active'; -- a key without a value is as if it was not there
  live := coalesce((workflow_apply.definition ->> 'active')::boolean, true);
  for r in select u.sentence, u.next from bellhop.unserved(kept) u loop
    raise warning using message = r.sentence, hint = r.next;
  end loop;
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
      hint = format('Deactivate it, and wait until that is over, or cancel its steps: bellhop workflow show %s', o.name);
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
  perform bellhop.refuse_names_of_sensors(w.definition -> 'sensor', workflow_event.event);
  return bellhop.happened(w.name, workflow_event.event, workflow_event.parameters);
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_faults(definition jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET enable_nestloop TO 'off'
AS $function$
declare
  faults text[];
  builtin constant text[] := '{WORKFLOW,RUN,EVENT,SLOT,SLOT_DATE}';
begin
  -- What there is, and as what: nothing else is looked at before that is right.
  with part (place, part, v, n) as materialized (
    select null, '', definition, 0::bigint
    union all
    select 'sensor', 'sensor', definition -> 'sensor', 1 where definition -> 'sensor' <> 'null'
    union all
    select format('%s[%s]', l.key, x.n - 1), l.part, x.v, 1 + x.n
      from (values ('steps', 'step'), ('notify', 'notice')) l (key, part)
     cross join lateral jsonb_array_elements(case when jsonb_typeof(definition -> l.key) = 'array' then definition -> l.key else '[]' end)
                        with ordinality x (v, n)
  ), field as materialized (
    select p.place, p.part, p.n, f.key, f.value as v, concat_ws('.', p.place, f.key) as at
      from part p cross join lateral jsonb_each(case when jsonb_typeof(p.v) = 'object' then p.v else '{}' end) f
     where f.value <> 'null'
  ), fault (n, text) as (
    select p.n, format('%s must hold keys and values, not %s; its keys are %s', coalesce(p.place, 'a definition'), bellhop.json_kind(p.v),
                       (select string_agg(k.key, ', ' order by k.n) from bellhop.definition_keys() k where k.part = p.part))
      from part p where jsonb_typeof(p.v) is distinct from 'object'
    union all
    select f.n, format('unknown key %s%s; known are %s', to_json(f.key), ' in ' || f.place,
                       (select string_agg(k.key, ', ' order by k.n) from bellhop.definition_keys() k where k.part = f.part))
      from field f where not exists (select from bellhop.definition_keys() k where k.part = f.part and k.key = f.key)
    union all
    select p.n, concat_ws('.', p.place, k.key) || ' is missing'
      from part p join bellhop.definition_keys() k on k.part = p.part and k.required
     where jsonb_typeof(p.v) = 'object' and coalesce(p.v -> k.key, 'null') = 'null'
    union all
    select f.n, bellhop.value_fault(f.v, f.at, k.wants, k.example)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key
    union all
    select f.n, bellhop.value_fault(e.v, format('%s[%s]', f.at, e.n - 1), 'word', null)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key and k.wants = 'words'
     cross join lateral jsonb_array_elements(case when jsonb_typeof(f.v) = 'array' then f.v else '[]' end) with ordinality e (v, n)
    union all
    select f.n, bellhop.value_fault(e.value, concat_ws('.', f.at, e.key), 'text', null)
      from field f join bellhop.definition_keys() k on k.part = f.part and k.key = f.key and k.wants = 'pairs'
     cross join lateral jsonb_each(case when jsonb_typeof(f.v) = 'object' then f.v else '{}' end) e
    union all
    select 1, 'there are no steps; write one like - {name: fetch, type: sh, args: "…"}' where definition -> 'steps' = '[]'
  )
  select array_agg(t.text order by t.n, t.text) into faults from fault t where t.text is not null;
  if faults is not null then
    return faults;
  end if;
  with step as materialized (
    select x.n, x.v ->> 'name' as name, x.v as s, case when x.v -> 'after' is null or x.v -> 'after' = 'null' then '[]' else x.v -> 'after' end as after
      from jsonb_array_elements(definition -> 'steps') with ordinality x (v, n)
  ), first as materialized (
    select t.name, min(t.n) as n from step t group by t.name
  ), text (n, field, t) as (
    select t.n, f.key, t.s ->> f.key from step t cross join (values ('args'), ('run_on')) f (key)
    union all
    select t.n, 'locks', l from step t cross join lateral jsonb_array_elements_text(nullif(t.s -> 'locks', 'null')) l
    union all
    select t.n, 'vars', v.value from step t cross join lateral jsonb_each_text(nullif(t.s -> 'vars', 'null')) v
  ), fault (n, text) as (
    select x.n, format('%s cannot be a name; letters, digits, . _ and -, 100 at the most', to_json(x.name))
      from (select 0, definition ->> 'workflow' union all select t.n, t.name from step t) x (n, name)
     where x.name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'
    union all
    select 0, f from bellhop.sensor_faults(nullif(definition -> 'sensor', 'null'), definition ->> 'workflow') f
    union all
    select 0, case when p !~ '^[A-Za-z_][A-Za-z0-9_]*$' then format('%s cannot be the name of a parameter; letters, digits and _ only', to_json(p))
                   when p = any (builtin) then format('every run has a parameter %s of its own; give it another name', p) end
      from jsonb_object_keys(nullif(definition -> 'parameters', 'null')) p
    union all
    select t.n, format('there is a step %s already, the %s', to_json(t.name), bellhop.ordinal(f.n))
      from step t join first f on f.name = t.name where f.n < t.n
    union all
    select t.n, case when a.name = t.name then format('step %s cannot come after itself; leave it out', to_json(t.name))
                     when f.n is null then format('there is no step %s; a step is named by its name', to_json(a.name))
                     when a.again > 1 then format('%s is named twice; leave it out', to_json(a.name))
                     when f.n > t.n then format('step %s comes after %s, which stands behind it; put %2$s before it, or leave one of them out of after',
                                                to_json(t.name), to_json(a.name)) end
      from step t cross join lateral (
        select l.name, row_number() over (partition by l.name order by l.k) as again from jsonb_array_elements_text(t.after) with ordinality l (name, k)) a
      left join first f on f.name = a.name
    union all
    select t.n, f from step t cross join lateral (values
      (case when t.s ->> 'type' in ('command', 'dummy') then format('a step cannot be of type %s, which no agent runs', t.s ->> 'type') end),
      (case when t.s ->> 'args' is not null and t.s ->> 'msq' is not null then 'a step has args or msq, and not both' end),
      (case when t.s ->> 'msq' ~ '^\s*$' then 'the query is empty; leave it out' end),
      (case when t.s ->> 'args' ~ '[\n\r]' then 'there is a line break in the args; args are one line' end),
      (case when (t.s ->> 'priority')::numeric not between -20 and 19
            then format('priority %s is out of range; from -20, which is first, to 19', t.s ->> 'priority') end),
      (case when t.s ->> 'on_failure' not in ('fail', 'run') then format('on_failure cannot be %s; known are fail, run', t.s -> 'on_failure') end)
    ) x (f)
    union all -- What parameters decide is seen when a run is made.
    select x.n, bellhop.lock_fault(regexp_replace(x.t, '=\$\{[A-Za-z_][A-Za-z0-9_]*\}$', '=exclusive'))
      from text x where x.field = 'locks' and split_part(x.t, ':', 1) not like '%${%'
    union all
    select x.n, case when m.part[1] = '${' then '${ without a name and a } behind it: "${"; write ${NAME}, or $${ where the text is to hold ${'
                     else format('there is no parameter %s; name it under parameters, or write $${%1$s} if the text is to hold that', m.part[2]) end
      from text x cross join lateral regexp_matches(x.t, '(\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{|\$|[^$]+)', 'g') m (part)
     where x.t like '%${%'
       and (m.part[1] = '${' or m.part[2] <> all (builtin) and not coalesce(nullif(definition -> 'parameters', 'null') ? m.part[2], false))
    union all
    select 100000 + m.n, f from jsonb_array_elements(nullif(definition -> 'notify', 'null')) with ordinality m (v, n) cross join lateral (
      select format('no run ends as %s; known are succeeded, failed, skipped', to_json(w)) from jsonb_array_elements_text(nullif(m.v -> 'when', 'null')) w
       where w not in ('succeeded', 'failed', 'skipped')
      union all
      select format('notify[%s]: %s is no address; write it like ops@example.org', m.n - 1, to_json(a)) from jsonb_array_elements_text(nullif(m.v -> 'mail', 'null')) a
       where a !~ '^([^@]+|"[^"]*")@[^@\s]+$|<[^@<>\s]+@[^@<>\s]+>$'
      union all
      select case when m.v ->> 'webhook' !~ '^https?://[^/]' then format('notify[%s].webhook: %s is no URL', m.n - 1, m.v -> 'webhook')
                  when m.v ->> 'webhook' ~ '^https?://[^/]*@'
                    then format('notify[%s].webhook: there is a password in it, which everybody would see who sees the rule', m.n - 1) end
             || '; write it like https://hooks.example.org/bellhop, with a token in its path, if any'
      union all
      select format('notify[%s] names nobody who is to be told; write mail: [ops@example.org], webhook: URL or command: [NAME]', m.n - 1)
       where coalesce(m.v ->> 'mail', m.v ->> 'webhook', m.v ->> 'command') is null) y (f)
  )
  select array_agg(case when t.n between 1 and 99999 then format('steps[%s]: %s', t.n - 1, t.text) else t.text end order by t.n) into faults
    from fault t where t.text is not null;
  return coalesce(faults, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.workflow_http(name text, event text DEFAULT NULL::text, payload jsonb DEFAULT '{}'::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  d jsonb;
begin
  select w.definition into d from bellhop.workflow w where w.name = workflow_http.name and w.active;
  if not found then
    return null;
  elsif bellhop.sensor_kind(d) is distinct from 'http' then
    raise object_not_in_prerequisite_state using message = format('workflow %s is not started by requests', workflow_http.name),
      hint = 'It is where its definition says: sensor: {http: true}';
  elsif jsonb_typeof(workflow_http.payload) is distinct from 'object' then
    raise invalid_parameter_value using message = 'what is posted is no JSON object', hint = 'as in {"day": "2026-11-01"}, or {}';
  elsif workflow_http.event = '' or length(workflow_http.event) > 190 then
    raise invalid_parameter_value using message = 'the name of an event has 1 to 190 letters', hint = 'Leave it out where requests are not repeated.';
  end if;
  return bellhop.happened(workflow_http.name, 'http=' || coalesce(workflow_http.event, nextval('bellhop.event_number')::text),
                                bellhop.sensor_parameters(d, workflow_http.payload));
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
  -- Jobs before their run, and steps before what waits for them, as retry and outcomes have them.
  perform from bellhop.jobqueue j
    where j.id = any (array(select d.needs from bellhop.dependency d where d.job = r.last union all select r.last))
      and (j.id = r.last or j.state <> 'succeeded')
    order by j.id for update;
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
  s jsonb := case when what <> 'deleted' then workflow_write.definition -> 'sensor' end;
  allowed jsonb; -- the sensor that it had when it was last active: somebody might watch that table
begin
  select * into o from bellhop.workflow w where w.name = workflow_write.name;
  select case when p.what <> 'deleted' then p.definition -> 'sensor' end into allowed
    from bellhop.workflow_past p where p.workflow = workflow_write.name and (p.active or p.what = 'deleted') order by p.version desc limit 1;
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
       set kind = excluded.kind, source = excluded.source, next_fire = excluded.next_fire, problem = null, since = null, recent = '{}',
           lag = null, held = null;
  end if;
  -- A table is asked for, and who may watch it, where its rows become events by this: one that is gone, or is somebody else's, keeps
  -- nobody from stopping a workflow, or from changing its steps.
  if s ? 'table' and active and (s is distinct from allowed or not o.active and not bellhop.table_watched(workflow_write.name, s)) then
    perform bellhop.watch_table(workflow_write.name, o.definition -> 'sensor', s);
  elsif o.definition -> 'sensor' ? 'table' and s is distinct from o.definition -> 'sensor' then
    perform bellhop.watch_table(workflow_write.name, o.definition -> 'sensor', null);
  end if;
  if o.active and not active and what <> 'deleted' then
    perform bellhop.runs_wait(workflow_write.name);
  elsif not o.active and active and what <> 'deleted' then
    perform bellhop.runs_go_on(workflow_write.name);
  end if;
  if what = 'deleted' then -- nobody would ever see to them
    delete from bellhop.event e where e.workflow = workflow_write.name and e.run is null;
  end if;
  perform pg_notify('bellhop_due', '');
  return v;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.zone_known(zone text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if zone !~ '/' then -- else abbreviations are taken for names; the view reads all files there are
    return zone = 'UTC' or exists (select from pg_timezone_names z where z.name = zone);
  elsif zone !~ '^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)+$' then
    return false;
  end if;
  perform now() at time zone zone;
  return true;
exception when invalid_parameter_value then
  return false;
end
$function$;

-- triggers
CREATE TRIGGER _000_refuse_insert BEFORE INSERT ON bellhop.jobqueue FOR EACH ROW WHEN (((new.type = ''::text) OR (octet_length(new.type) > 500) OR (strpos(new.args, '
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
