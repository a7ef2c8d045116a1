-- The schema after all migrations, written from the catalogs by `make generate`: functions without their bodies. Nobody runs this file.

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
  locks text[] not null default '{}'::text[],
  vars text[],
  refused jsonb not null default '{}'::jsonb,
  pauses real[] not null default '{1,300,2,0.5}'::real[],
  resources jsonb not null default '{}'::jsonb,
  slots integer not null default 1
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
  row_text text,
  ahead bigint
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
  detached_at timestamp with time zone,
  waiting integer,
  waiting_at timestamp with time zone,
  done bigint not null default 0,
  failed bigint not null default 0,
  rate real,
  rate_since timestamp with time zone,
  rate_ended integer not null default 0
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
  spawned_at timestamp with time zone,
  own boolean
);

table bellhop.awaits (
  job bigint not null,
  event text not null,
  since timestamp with time zone not null default clock_timestamp(),
  until timestamp with time zone not null,
  waits boolean not null default true,
  told boolean not null default false,
  counted boolean not null default false
);

table bellhop.change (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default clock_timestamp(),
  by text not null,
  via text not null,
  role text not null,
  verb text not null,
  thing text not null,
  name text,
  result text
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
  deaths bigint not null default 0,
  kept_until timestamp with time zone,
  kept_from text,
  kept_by text
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

table bellhop.emitted (
  event text not null,
  payload jsonb,
  at timestamp with time zone not null default clock_timestamp(),
  by text not null,
  counted boolean not null default true
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

unlogged table bellhop.era_now (
  one boolean not null default true,
  server text,
  floor bigint not null,
  horizon xid8 not null default pg_current_xact_id(),
  began_at timestamp with time zone not null default clock_timestamp()
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
  only_rjm text,
  locates boolean,
  bounds jsonb default '{}'::jsonb,
  resources jsonb not null default '{}'::jsonb
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
  listen text,
  standstill text,
  standstill_since timestamp with time zone,
  keys text[] not null default '{}'::text[]
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

table bellhop.item_done (
  job bigint not null,
  item text not null
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
  ended_as text,
  lease_until timestamp with time zone,
  share text,
  stepped boolean,
  template jsonb
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
  until timestamp with time zone,
  rests boolean not null default false
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

table bellhop.loss (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default clock_timestamp(),
  instance bigint not null,
  name text not null,
  was text not null,
  server text not null,
  gone bigint not null,
  again bigint not null,
  behind interval,
  seen_at timestamp with time zone,
  seen_by text
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
  error text,
  receiver text not null default "left"(
CASE channel
    WHEN 'webhook'::text THEN ('webhook '::text || lower(COALESCE("substring"(target, '^[A-Za-z]+://([^/?#]*)'::text), ''::text)))
    WHEN 'mail'::text THEN 'mail'::text
    ELSE ('command '::text || target)
END, 300)
);

table bellhop.notice_gone (
  target text not null,
  at timestamp with time zone not null default clock_timestamp()
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

table bellhop.promise (
  job bigint not null,
  by timestamp with time zone not null,
  asked_at timestamp with time zone not null default clock_timestamp(),
  starts timestamp with time zone,
  ends timestamp with time zone,
  latest timestamp with time zone,
  certainty real,
  danger_at timestamp with time zone,
  why text,
  outcome text,
  decided_at timestamp with time zone
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

table bellhop.saved_step (
  job bigint not null,
  name text not null,
  output jsonb not null,
  bytes integer not null,
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
  applied_at timestamp with time zone not null default clock_timestamp(),
  works_from integer
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

table bellhop.sensor_place (
  workflow text not null,
  place jsonb,
  remark text,
  remarked_at timestamp with time zone
);

table bellhop.server_seen (
  server text not null,
  floor bigint not null,
  since timestamp with time zone not null default clock_timestamp()
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

table bellhop.share (
  type text not null,
  name text not null,
  weight real not null default 1
);

table bellhop.share_arrival (
  id bigint not null generated always as identity,
  type text not null,
  place text not null,
  priority smallint not null,
  share text not null
);

table bellhop.share_clock (
  type text not null,
  place text not null,
  priority smallint not null,
  now double precision not null default 0,
  looked text not null default ''::text,
  turned text not null default ''::text,
  read_to text not null default ''::text
);

table bellhop.share_line (
  type text not null,
  place text not null,
  priority smallint not null,
  share text not null,
  tag double precision not null,
  turn smallint not null,
  came bigint not null,
  idle boolean not null,
  started bigint not null
);

table bellhop.share_template (
  type text not null,
  template text not null,
  parts text[] not null
);

table bellhop.sign_in (
  digest bytea not null,
  link boolean not null,
  login text not null,
  made_at timestamp with time zone not null default clock_timestamp(),
  until timestamp with time zone not null,
  role text,
  attempt bytea
);

table bellhop.sketch (
  what text not null,
  name text not null,
  pairs integer[] not null default '{}'::integer[],
  at timestamp with time zone not null default clock_timestamp()
);

table bellhop.worker_type (
  login name not null,
  type text not null
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
  ended_as text,
  share text
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
  ended_as text,
  share text
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
  submitted_by text,
  share text
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
  msq text,
  share text
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

view bellhop.payload (
  id bigint,
  args text,
  msq text,
  repeat text,
  vars jsonb,
  timeout interval,
  held boolean,
  successes integer,
  deaths smallint
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

view bellhop.run_step (
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

view bellhop.shareable (
  id bigint,
  type text,
  place text,
  priority smallint,
  share text,
  priority_name text,
  msq text
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
  job bigint,
  name text,
  output jsonb,
  at timestamp with time zone
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
alter table bellhop.awaits add constraint awaits_pkey PRIMARY KEY (job);
alter table bellhop.change add constraint change_pkey PRIMARY KEY (id);
alter table bellhop.child add constraint child_pkey PRIMARY KEY (instance, host, name);
alter table bellhop.deadline add constraint deadline_pkey PRIMARY KEY (job);
alter table bellhop.dependency add constraint dependency_not_itself CHECK ((job <> needs));
alter table bellhop.dependency add constraint dependency_pkey PRIMARY KEY (job, needs);
alter table bellhop.dependency add constraint dependency_wanted_ends CHECK (((wanted <> '{}'::text[]) AND (wanted <@ ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'quarantined'::text])));
alter table bellhop.emitted add constraint emitted_pkey PRIMARY KEY (event);
alter table bellhop.engine_job add constraint engine_job_pkey PRIMARY KEY (tag);
alter table bellhop.engine_job add constraint engine_job_state_check CHECK ((state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text, 'killing'::text, 'over'::text])));
alter table bellhop.era_now add constraint era_now_one_check CHECK (one);
alter table bellhop.era_now add constraint era_now_pkey PRIMARY KEY (one);
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
alter table bellhop.item_done add constraint item_done_pkey PRIMARY KEY (job, item);
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
alter table bellhop.loss add constraint loss_pkey PRIMARY KEY (id);
alter table bellhop.lost_run add constraint lost_run_pkey PRIMARY KEY (job, n);
alter table bellhop.manager_stop add constraint manager_stop_pkey PRIMARY KEY (name);
alter table bellhop.notice add constraint notice_channel_check CHECK ((channel = ANY (ARRAY['mail'::text, 'webhook'::text, 'command'::text])));
alter table bellhop.notice add constraint notice_pkey PRIMARY KEY (id);
alter table bellhop.notice add constraint notice_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'sent'::text, 'given_up'::text])));
alter table bellhop.notice_gone add constraint notice_gone_target_excl EXCLUDE USING hash (target WITH =);
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
alter table bellhop.promise add constraint promise_outcome_check CHECK ((outcome = ANY (ARRAY['kept'::text, 'missed'::text, 'void'::text])));
alter table bellhop.promise add constraint promise_pkey PRIMARY KEY (job);
alter table bellhop.rjm add constraint rjm_pkey PRIMARY KEY (job);
alter table bellhop.rjm add constraint rjm_state_check CHECK ((state = ANY (ARRAY['done'::text, 'dusting'::text, 'old'::text])));
alter table bellhop.run add constraint run_pkey PRIMARY KEY (id);
alter table bellhop.run add constraint run_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'skipped'::text])));
alter table bellhop.run_end add constraint run_end_pkey PRIMARY KEY (id);
alter table bellhop.saved_step add constraint saved_step_pkey PRIMARY KEY (job, name);
alter table bellhop.schema_script add constraint schema_script_pkey PRIMARY KEY (name);
alter table bellhop.schema_version add constraint schema_version_pkey PRIMARY KEY (version);
alter table bellhop.sensor add constraint sensor_pkey PRIMARY KEY (workflow);
alter table bellhop.sensor_place add constraint sensor_place_pkey PRIMARY KEY (workflow);
alter table bellhop.server_seen add constraint server_seen_pkey PRIMARY KEY (server);
alter table bellhop.set_aside add constraint set_aside_attachment_fkey FOREIGN KEY (attachment) REFERENCES bellhop.attachment(id) ON DELETE CASCADE;
alter table bellhop.set_aside add constraint set_aside_pkey PRIMARY KEY (attachment, digest);
alter table bellhop.share add constraint share_name_bounds CHECK (((length(name) >= 1) AND (length(name) <= 200)));
alter table bellhop.share add constraint share_pkey PRIMARY KEY (type, name);
alter table bellhop.share add constraint share_weight_bounds CHECK (((weight >= (0.001)::double precision) AND (weight <= (1000)::double precision)));
alter table bellhop.share_clock add constraint share_clock_pkey PRIMARY KEY (type, place, priority);
alter table bellhop.share_line add constraint share_line_pkey PRIMARY KEY (type, place, priority, share);
alter table bellhop.share_template add constraint share_template_pkey PRIMARY KEY (type);
alter table bellhop.sign_in add constraint sign_in_attempt_key UNIQUE (attempt);
alter table bellhop.sign_in add constraint sign_in_pkey PRIMARY KEY (digest);
alter table bellhop.sketch add constraint sketch_pkey PRIMARY KEY (what, name);
alter table bellhop.sketch add constraint sketch_what_check CHECK ((what = ANY (ARRAY['took'::text, 'off'::text])));
alter table bellhop.worker_type add constraint worker_type_pkey PRIMARY KEY (login, type);
alter table bellhop.workflow add constraint workflow_name CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'::text));
alter table bellhop.workflow add constraint workflow_pkey PRIMARY KEY (name);
alter table bellhop.workflow_past add constraint workflow_past_pkey PRIMARY KEY (workflow, version);
alter table bellhop.workflow_past add constraint workflow_past_what_check CHECK ((what = ANY (ARRAY['created'::text, 'changed'::text, 'activated'::text, 'deactivated'::text, 'deleted'::text])));

-- indexes
CREATE INDEX attached_ahead ON bellhop.attached USING btree (attachment, ahead) WHERE (live AND (ahead IS NOT NULL));
CREATE INDEX attached_job ON bellhop.attached USING btree (job);
CREATE INDEX attached_live ON bellhop.attached USING btree (attachment) WHERE live;
CREATE UNIQUE INDEX attachment_name ON bellhop.attachment USING btree (name) WHERE (detached_at IS NULL);
CREATE UNIQUE INDEX attachment_table ON bellhop.attachment USING btree (rel, dispatch_column) WHERE (detached_at IS NULL);
CREATE INDEX awaits_event ON bellhop.awaits USING btree (event) WHERE waits;
CREATE INDEX awaits_uncounted ON bellhop.awaits USING btree (job) WHERE (NOT counted);
CREATE INDEX change_by ON bellhop.change USING btree (by, id);
CREATE INDEX change_of ON bellhop.change USING btree (thing, name, id);
CREATE INDEX deadline_at ON bellhop.deadline USING btree (at);
CREATE INDEX dependency_needs ON bellhop.dependency USING btree (needs);
CREATE INDEX dependency_open ON bellhop.dependency USING btree (needs) WHERE (NOT met);
CREATE INDEX dependency_uncounted ON bellhop.dependency USING btree (job) WHERE (NOT counted);
CREATE INDEX emitted_at ON bellhop.emitted USING btree (at);
CREATE INDEX emitted_uncounted ON bellhop.emitted USING btree (event) WHERE (NOT counted);
CREATE INDEX engine_job_of ON bellhop.engine_job USING btree (job);
CREATE UNIQUE INDEX engine_job_one ON bellhop.engine_job USING btree (job) WHERE (state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text]));
CREATE INDEX engine_job_open ON bellhop.engine_job USING btree (type, tag) WHERE (state = ANY (ARRAY['submitting'::text, 'running'::text, 'ended'::text, 'killing'::text]));
CREATE INDEX event_of ON bellhop.event USING btree (workflow, at);
CREATE INDEX event_open ON bellhop.event USING btree (at) WHERE (run IS NULL);
CREATE INDEX history_of ON bellhop.history USING btree (type, minute);
CREATE INDEX instance_live ON bellhop.instance USING btree (id) WHERE (state = 'live'::text);
CREATE INDEX jobqueue_floor ON bellhop.jobqueue USING btree (txid, type) WHERE ((state = 'ready'::text) AND (txid > '0'::xid8));
CREATE UNIQUE INDEX jobqueue_key ON bellhop.jobqueue USING btree (key) WHERE (key IS NOT NULL);
CREATE INDEX jobqueue_locked ON bellhop.jobqueue USING btree (COALESCE(behind, ''::text), type, priority, id) WHERE ((locks IS NOT NULL) AND (state = 'ready'::text) AND (NOT held));
CREATE INDEX jobqueue_locked_share ON bellhop.jobqueue USING btree (COALESCE(behind, ''::text), type, priority, COALESCE(share, ''::text), id) WHERE ((locks IS NOT NULL) AND (state = 'ready'::text) AND (NOT held));
CREATE INDEX jobqueue_parked ON bellhop.jobqueue USING btree (state, held, run_at, id) WHERE ((state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'failed'::text, 'quarantined'::text])) OR ((state = 'ready'::text) AND (run_at IS NOT NULL)));
CREATE INDEX jobqueue_pinned ON bellhop.jobqueue USING btree (type, run_on, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NOT NULL) AND (locks IS NULL) AND (share IS NULL));
CREATE INDEX jobqueue_ready ON bellhop.jobqueue USING btree (type, priority, id) WHERE ((state = 'ready'::text) AND (NOT held) AND (run_on IS NULL) AND (locks IS NULL) AND (share IS NULL));
CREATE INDEX jobqueue_shared ON bellhop.jobqueue USING btree (type, COALESCE(run_on, ''::text), priority, share, id) WHERE ((share IS NOT NULL) AND (state = 'ready'::text) AND (NOT held) AND (locks IS NULL));
CREATE INDEX jobqueue_taken ON bellhop.jobqueue USING btree (instance) WHERE (state = ANY (ARRAY['assigned'::text, 'running'::text]));
CREATE INDEX jobqueue_unparked ON bellhop.jobqueue USING btree (id) WHERE ((state = 'ready'::text) AND held);
CREATE INDEX lock_grant_rests ON bellhop.lock_grant USING btree (job) WHERE rests;
CREATE INDEX log_job ON bellhop.log USING btree (job, id);
CREATE INDEX loss_unseen ON bellhop.loss USING btree (id) WHERE (seen_at IS NULL);
CREATE INDEX notice_open ON bellhop.notice USING btree (next_at) WHERE (status = 'waiting'::text);
CREATE INDEX notice_receiver ON bellhop.notice USING btree (receiver, next_at) WHERE (status = 'waiting'::text);
CREATE INDEX notice_run ON bellhop.notice USING btree (run);
CREATE INDEX notice_until ON bellhop.notice USING btree (until) WHERE (status = 'waiting'::text);
CREATE INDEX operation_open ON bellhop.operation USING btree (id) WHERE (state = ANY (ARRAY['running'::text, 'stopping'::text]));
CREATE INDEX promise_open ON bellhop.promise USING btree (job) WHERE (outcome IS NULL);
CREATE INDEX rjm_dusty ON bellhop.rjm USING btree (job) WHERE (state <> 'old'::text);
CREATE INDEX run_ended ON bellhop.run USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_ended_as ON bellhop.run USING btree (state, ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_of ON bellhop.run USING btree (workflow, id);
CREATE INDEX run_open ON bellhop.run USING btree (workflow, id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX run_success ON bellhop.run USING btree (workflow, ended_at) WHERE (state = 'succeeded'::text);
CREATE INDEX sensor_next ON bellhop.sensor USING btree (next_fire) WHERE (next_fire < 'infinity'::timestamp with time zone);
CREATE INDEX sensor_source ON bellhop.sensor USING btree (source) WHERE (source IS NOT NULL);
CREATE INDEX sensor_watched ON bellhop.sensor USING btree (workflow) WHERE (kind = ANY (ARRAY['notify'::text, 'file'::text, 'kafka'::text]));
CREATE INDEX share_arrival_key ON bellhop.share_arrival USING btree (type, place, priority, share, id);
CREATE INDEX share_line_idle ON bellhop.share_line USING btree (type, place, priority, tag) WHERE idle;
CREATE INDEX share_line_next ON bellhop.share_line USING btree (type, place, priority, tag, turn, came) WHERE (NOT idle);
CREATE INDEX sign_in_login ON bellhop.sign_in USING btree (login, link, until);
CREATE INDEX workflow_instance ON bellhop.workflow USING btree (instance) WHERE active;

-- triggers
CREATE TRIGGER _000_refuse_insert BEFORE INSERT ON bellhop.jobqueue FOR EACH ROW WHEN (((new.type = ''::text) OR (octet_length(new.type) > 500) OR (new.run_on = ''::text) OR (octet_length(new.run_on) > 1000) OR (new.key = ''::text) OR (length(new.key) > 1000) OR (octet_length(new.key) > 2600) OR (new.share = ''::text) OR (length(new.share) > 200) OR ((new.priority < '-20'::integer) OR (new.priority > 19)) OR (new.max_attempts < 1) OR (new.timeout <= '00:00:00'::interval) OR (new.timeout > '100 years'::interval) OR (new.on_failure <> ALL (ARRAY['fail'::text, 'block'::text, 'run'::text])) OR (strpos(new.args, '
'::text) > 0) OR (strpos(new.args, ''::text) > 0) OR (new.msq IS NOT NULL) OR (new.repeat IS NOT NULL) OR (new.priority_name IS NOT NULL) OR (new.locks IS NOT NULL) OR (new.vars IS NOT NULL) OR (new.reasons IS NOT NULL))) EXECUTE FUNCTION bellhop.refuse();
CREATE TRIGGER _000_refuse_update AFTER UPDATE OF type, args, msq, repeat, priority, priority_name, key, run_on, max_attempts, timeout, on_failure, locks, reasons, vars, share ON bellhop.jobqueue FOR EACH ROW EXECUTE FUNCTION bellhop.refuse();
CREATE TRIGGER _005_share_template BEFORE INSERT ON bellhop.jobqueue FOR EACH ROW WHEN (((new.share IS NULL) AND (new.vars IS NOT NULL) AND (((pg_sequence_last_value('bellhop.share_types'::regclass) >> (hashtext(new.type) & 31)) & (1)::bigint) = 1))) EXECUTE FUNCTION bellhop.share_by_template();
CREATE TRIGGER _010_locks_came AFTER INSERT OR UPDATE OF locks, reasons ON bellhop.jobqueue FOR EACH ROW WHEN (((new.locks IS NOT NULL) OR ((new.reasons IS NOT NULL) AND (strpos(('|'::text || array_to_string(new.reasons, '|'::text)), '|rate-limit:'::text) > 0)))) EXECUTE FUNCTION bellhop.locks_came();
CREATE TRIGGER _020_results AFTER UPDATE OF state ON bellhop.jobqueue FOR EACH ROW WHEN (((new.template IS NOT NULL) AND (new.state = 'ready'::text) AND (old.state <> ALL (ARRAY['ready'::text, 'assigned'::text, 'running'::text])))) EXECUTE FUNCTION bellhop.results_came();
CREATE TRIGGER _050_command AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.type = ANY (ARRAY['command'::text, 'dummy'::text]))) EXECUTE FUNCTION bellhop.command();
CREATE TRIGGER _100_arrange AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.held OR (new.run_at IS NOT NULL) OR (new.priority_name IS NOT NULL) OR (new.not_after IS NOT NULL))) EXECUTE FUNCTION bellhop.arrange();
CREATE TRIGGER _100_attachment_came BEFORE INSERT ON bellhop.attachment FOR EACH ROW EXECUTE FUNCTION bellhop.attachment_came();
CREATE TRIGGER _100_dependency_row BEFORE INSERT ON bellhop.dependency FOR EACH ROW EXECUTE FUNCTION bellhop.dependency_row();
CREATE TRIGGER _200_dependencies_came AFTER INSERT ON bellhop.dependency REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_came();
CREATE TRIGGER _200_dependencies_gone AFTER DELETE ON bellhop.dependency REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.dependencies_gone();
CREATE TRIGGER _200_place AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.run_on IS NOT NULL)) EXECUTE FUNCTION bellhop.place();
CREATE TRIGGER _300_all_jobs_gone AFTER TRUNCATE ON bellhop.jobqueue FOR EACH STATEMENT EXECUTE FUNCTION bellhop.all_jobs_gone();
CREATE TRIGGER _300_jobs_gone AFTER DELETE ON bellhop.jobqueue REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION bellhop.jobs_gone();
CREATE TRIGGER _800_share_came AFTER INSERT OR UPDATE OF state, held, unmet, run_at, locks, share, type, run_on, priority ON bellhop.jobqueue FOR EACH ROW WHEN (((new.share IS NOT NULL) AND (new.state = 'ready'::text) AND (NOT new.held) AND (new.locks IS NULL) AND (new.unmet IS NULL))) EXECUTE FUNCTION bellhop.share_came();
CREATE TRIGGER _900_changed AFTER INSERT OR UPDATE OF pool, detached_at ON bellhop.attachment FOR EACH ROW EXECUTE FUNCTION bellhop.changed_row();
CREATE TRIGGER _900_changed_types AFTER INSERT OR DELETE OR UPDATE ON bellhop.worker_type FOR EACH ROW EXECUTE FUNCTION bellhop.changed_row();
CREATE TRIGGER _900_ring AFTER INSERT ON bellhop.jobqueue FOR EACH STATEMENT WHEN ((NOT pg_try_advisory_xact_lock_shared('7090192401229115393'::bigint))) EXECUTE FUNCTION bellhop.ring();

CREATE OR REPLACE FUNCTION bellhop.able(sensor jsonb)
 RETURNS bigint[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.actor()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT COALESCE(bellhop.believed('bellhop.actor'::text), (SESSION_USER)::text) AS "coalesce";
END;

CREATE OR REPLACE FUNCTION bellhop.admitted(session bytea, attempt bytea, person text, role text, seconds integer)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.agent_fails(words text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.ago(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.all_jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.answers(host text, serves text[], key text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.applying_filter(j bellhop.jobqueue)
 RETURNS bellhop.filter
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.archived(ids bigint[], archive text, runs boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.arrange()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.as_archived(ids bigint[])
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.attached_column(tab regclass, col text, purpose text)
 RETURNS smallint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.attached_key(rel regclass, columns smallint[], OUT ordering text, OUT key_text text, OUT parsed text, OUT matches text, OUT again text, OUT returned text, OUT steady boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.attachment_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.await_event(job bigint, fence bigint, event text, timeout interval DEFAULT NULL::interval, OUT came boolean, OUT payload jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.batch(type text DEFAULT 'dummy'::text, args text DEFAULT NULL::text, key text DEFAULT NULL::text, jobs bigint[] DEFAULT NULL::bigint[], held boolean DEFAULT false, on_failure text DEFAULT 'run'::text, priority integer DEFAULT 0, vars jsonb DEFAULT NULL::jsonb)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.batch_add(batch bigint, jobs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.batch_count(id bigint, OUT jobs bigint, OUT waiting bigint, OUT running bigint, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT quarantined bigint)
 RETURNS record
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.believed(setting text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.below(ids bigint[], most integer)
 RETURNS TABLE(id bigint, key text, type text, state text, becomes text, among bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.blockers(id bigint)
 RETURNS TABLE(n integer, job bigint, type text, state text, since timestamp with time zone, why text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.bound_fault(v jsonb, key text, choices text[], pattern text, lowest integer, most integer, bytes integer, wrong text, hint text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.cancel_job(id bigint, now boolean DEFAULT false, OUT was text, OUT now_is text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.carry_out(statements text[], their_path text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.causes()
 RETURNS TABLE(cause text, code text, of text, stuck boolean, means text, sentence text, next text)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.chain(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.changed(verb text, thing text, name text, result text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.changed_job(verb text, id bigint, was text, now_is text, more text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.changed_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.children(job bigint, fence bigint, children jsonb)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.children_ends(children jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.children_fault(children jsonb)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.claim_for_worker(types text[], n integer, lease interval)
 RETURNS TABLE(id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamp with time zone, stepped boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.claim_shared(me bigint, host text, types text[], most integer[], names text[], worst integer[], msq boolean, total integer, assigned boolean, rivals text[], placed boolean[], floor bigint, only_names text, only_priorities integer[])
 RETURNS SETOF bellhop.jobqueue
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.claim_with_steps(types text[], n integer, lease interval)
 RETURNS TABLE(id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamp with time zone, steps jsonb, event jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.clock(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.close_gate()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '100ms';

CREATE OR REPLACE FUNCTION bellhop.column_of(rel regclass, attnum smallint, purpose text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.columns_read(names text[])
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.command()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.cron_fault(schedule text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.definition_fields(definition jsonb)
 RETURNS TABLE(place text, part text, n bigint, whole jsonb, key text, v jsonb)
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.definition_keys()
 RETURNS TABLE(part text, n integer, key text, wants text, required boolean, example text, kinds text[], choices text[], pattern text, lowest integer, most integer, bytes integer, wrong text, hint text)
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.dependencies_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.dependencies_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.dependency_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.dependents(ids bigint[], cancelled boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

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
 SET "IntervalStyle" TO 'postgres';

CREATE OR REPLACE FUNCTION bellhop.dispatch_value(type oid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.edges(ids bigint[])
 RETURNS TABLE(job bigint, needs bigint, wanted text[], met boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.edit(id bigint, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, args text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, hold boolean DEFAULT NULL::boolean, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone, run_on text DEFAULT NULL::text, vars jsonb DEFAULT NULL::jsonb, msq text DEFAULT NULL::text, on_failure text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.edit_job(id bigint, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, args text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, hold boolean DEFAULT NULL::boolean, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone, run_on text DEFAULT NULL::text, vars jsonb DEFAULT NULL::jsonb, msq text DEFAULT NULL::text, on_failure text DEFAULT NULL::text, OUT was_in text, OUT now_is text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.edit_version(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.edited_template(j bellhop.jobqueue, args text, vars jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.emit(event text, payload jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.end_badly(j bellhop.jobqueue, error text, pause interval)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.end_told(run bigint, called text, state text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.end_well(jobs bigint[], fences bigint[], results jsonb[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.ended(ids bigint[], told boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.era(OUT floor bigint, OUT server text, OUT server_floor bigint)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.event_header(name text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.event_slot(event text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.event_to_run(called text, event text)
 RETURNS bellhop.event
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.expire(most integer, OUT expired integer, OUT next_ms bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.expire_leases(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.explain(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

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
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres';

CREATE OR REPLACE FUNCTION bellhop.explain_workflow(name text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres';

CREATE OR REPLACE FUNCTION bellhop.explanation(id bigint)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres';

CREATE OR REPLACE FUNCTION bellhop.fail(job bigint, fence bigint, error text, retry interval DEFAULT NULL::interval)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.fill(template text, args jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.fill_results(j bellhop.jobqueue, OUT args text, OUT vars jsonb, OUT fault text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filled(template text, given jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_add(action text, predicates jsonb DEFAULT '[]'::jsonb, priority integer DEFAULT 0, reason text DEFAULT ''::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_answer(expr jsonb, has jsonb, mark bigint DEFAULT NULL::bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_check(action text, predicates jsonb, reason text DEFAULT ''::text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_compare(op text, got jsonb, want jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_delete(id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_field(field text, has jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_flaw(expr jsonb, depth integer DEFAULT 1)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_look(after xid DEFAULT NULL::xid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_matches(f bellhop.filter, j bellhop.jobqueue)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_may()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_nesting_flaw(bare text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_place(rule text, action text, vars jsonb, share text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_regex_flaw(regex text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_reject(job bigint, rule text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_replace(id text, action text, predicates jsonb DEFAULT '[]'::jsonb, priority integer DEFAULT 0, reason text DEFAULT ''::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_trigger()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.filter_write(id text, action text, predicates jsonb, priority integer, reason text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '2s';

CREATE OR REPLACE FUNCTION bellhop.find_lost_turns(locks text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.find_shares()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.finish(job bigint, fence bigint, result jsonb DEFAULT NULL::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.finish_all(jobs bigint[], fences bigint[], results jsonb[] DEFAULT NULL::jsonb[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.finish_item(job bigint, fence bigint, item text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.fire(called text, events text[], slots timestamp with time zone[], caught boolean[], next timestamp with time zone, safely boolean, held timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.first_behind(lock text, most integer, but_types text[])
 RETURNS TABLE(job bigint, fence bigint, locks text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.forget_attachment(id bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.forget_steps(job bigint, step text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.full_fault(job bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.graph(of bigint, most bigint)
 RETURNS TABLE(id bigint, key text, type text, state text, exit_code integer, error text, waiting_for text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.happened(called text, event text, given jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.has_shares(type text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.heads_behind(lock text)
 RETURNS TABLE(job bigint, since timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.hindered(cause text, args jsonb, id text)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.hindrance(type text, run_on text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, priority_name text DEFAULT NULL::text, msq boolean DEFAULT false, OUT cause text, OUT args jsonb, OUT detail text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.idle_turn(since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

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

CREATE OR REPLACE FUNCTION bellhop.is_sealed(text text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.is_served(type text, job bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.job_name(id bigint)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.jobs_forgotten(ids bigint[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.jobs_gone()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.json_kind(v jsonb)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.keep_counted_steps(jobs bigint[], names text[], outputs jsonb[], had integer[], sizes bigint[])
 RETURNS TABLE(place integer, has integer, size bigint)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.keep_house()
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.keep_steps(jobs bigint[], names text[], outputs jsonb[])
 RETURNS SETOF integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.kept_fault(name text, output jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.key_wanted(waiting_for text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.kick()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.killjob(id bigint, by text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lacks_key(job bigint, fence bigint, key text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lasting(span interval)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.leave_attachment(id bigint, back text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_attachment(id bigint)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_beside(most integer)
 RETURNS TABLE(job bigint, type text, priority integer, slots integer, age double precision, runs double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_fault(lock text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_heads(most integer)
 RETURNS TABLE(level text, name text, mode text, holders bigint, job bigint, held double precision, waiting bigint, oldest double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_holders(wants text[])
 RETURNS TABLE(job bigint, since timestamp with time zone, want text, held text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_places(level text, name text)
 RETURNS numeric
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_queue(most integer)
 RETURNS TABLE(level text, name text, mode text, what text, job bigint, type text, instance bigint, since timestamp with time zone, place bigint, waiting_for text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_reservations()
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.lock_scene(most integer, mine bigint DEFAULT 0)
 RETURNS TABLE(job bigint, type text, priority integer, locks text[], behind text, place bigint, holds boolean, age double precision, runs double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_share_ahead(j bellhop.jobqueue, OUT starts bigint, OUT next text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_turns(lock text, type text, priority smallint, most integer)
 RETURNS TABLE(id bigint, place bigint)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.lock_turns_taken(types text[], priorities smallint[], shares text[], starts integer[], rest boolean[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.locks_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.locks_clash(want text, level text, name text, mode text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.locks_ok(locks text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.locks_round(reserve_after bigint, OUT locked boolean, OUT reserved integer, OUT next_in double precision)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.locks_upkeep(reserve_after bigint)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.look_again(most integer, OUT looked integer, OUT more boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.look_for_events(most integer, OUT n integer, OUT more boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.loss_seen()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.made_of_the_servers(type oid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.make_children(j bellhop.jobqueue, children jsonb, submitted_by text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.make_due(OUT n integer, OUT next_ms bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.make_run(w bellhop.workflow, event text, slot timestamp with time zone, who text, given jsonb, room integer, chosen text[] DEFAULT NULL::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.make_run_or_say(w bellhop.workflow, event text, slot timestamp with time zone, given jsonb, room integer, safely boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.manager(what text, name text DEFAULT ''::text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

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

CREATE OR REPLACE FUNCTION bellhop.named_texts(names text[], given text[])
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.needed_by_way(ids bigint[])
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.needs_by_way(ids bigint[])
 RETURNS bigint[]
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_again(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_free(holder bigint, me bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_rule_add(project text DEFAULT ''::text, prefix text DEFAULT ''::text, statuses text[] DEFAULT '{failed}'::text[], mail text[] DEFAULT '{}'::text[], webhook text DEFAULT NULL::text, command text[] DEFAULT '{}'::text[], unless_success_within interval DEFAULT NULL::interval, active boolean DEFAULT true)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_rule_change(id bigint, project text DEFAULT ''::text, prefix text DEFAULT ''::text, statuses text[] DEFAULT '{failed}'::text[], mail text[] DEFAULT '{}'::text[], webhook text DEFAULT NULL::text, command text[] DEFAULT '{}'::text[], unless_success_within interval DEFAULT NULL::interval, active boolean DEFAULT NULL::boolean, version integer DEFAULT NULL::integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_rule_delete(id bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_rule_refused(statuses text[], mail text[], webhook text, command text[])
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notice_rule_test(id bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.notices_next(me bigint, under bigint[] DEFAULT NULL::bigint[], no_room text[] DEFAULT '{}'::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.obey(me bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.one_line(value text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.open_gate()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET lock_timeout TO '50ms';

CREATE OR REPLACE FUNCTION bellhop.operation_plan(verb text, filter jsonb, priority integer DEFAULT NULL::integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_role()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_start(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_states(verb text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_step(id bigint, most integer DEFAULT 1000)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_stop(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.operation_undo(id bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.ordinal(n bigint)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.own_roles()
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT ARRAY( SELECT (r.rolname)::text AS rolname
            FROM pg_roles r
           WHERE pg_has_role(bellhop.caller(), r.oid, 'member'::text)) AS "array";
END;

CREATE OR REPLACE FUNCTION bellhop.own_run(job bigint, fence bigint)
 RETURNS bellhop.jobqueue
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

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
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.pass_locks(most integer DEFAULT 32)
 RETURNS text[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.passed_back(root bigint)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.pause(type text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.pause_after(type text, attempt integer, jitter double precision DEFAULT random())
 RETURNS interval
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.pause_type(type text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.person_of(session bytea)
 RETURNS TABLE(person text, role text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.pick_of_line(type text, place text, priority smallint, n integer, msq boolean, only_priorities integer[], only_names text, had bigint[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.pick_shared(types text[], most integer[], names text[], worst integer[], placed boolean[], msq boolean, total integer, only_priorities integer[] DEFAULT NULL::integer[], only_names text DEFAULT NULL::text)
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.place()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.predicate(state text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.priority_of(name text)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.promise(job bigint, by timestamp with time zone, starts timestamp with time zone DEFAULT NULL::timestamp with time zone, ends timestamp with time zone DEFAULT NULL::timestamp with time zone, latest timestamp with time zone DEFAULT NULL::timestamp with time zone, certainty real DEFAULT NULL::real)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.promise_danger(job bigint, danger boolean, why text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.promises_settle()
 RETURNS TABLE(job bigint, by timestamp with time zone, what text, why text)
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.prune(older_than interval, states text[], past bigint, most integer, rjm boolean DEFAULT false, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.prune_into(archive text, since timestamp with time zone, until timestamp with time zone, states text[], past bigint, most integer, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.prune_jobs(since timestamp with time zone, until timestamp with time zone, states text[], past bigint, most integer, rjm boolean, whole boolean)
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.read_only()
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.reason(cause text, args jsonb DEFAULT '{}'::jsonb)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.reason_of(error text, reason text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refill_pools(ids bigint[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.refuse()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_but_operators(verb text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_cycles(jobs bigint[], give_up boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_like_named(called text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_names_of_sensors(sensor jsonb, event text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_others(id bigint, verb text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_parameters(w bellhop.workflow, given jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_plain(job bigint, type text, old_args text, old_vars jsonb, new_args text, new_vars jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_rest(j bellhop.jobqueue, pause interval, event text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_result(job bigint, result jsonb)
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_rings(called text, source text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_run(j bellhop.jobqueue, job bigint, fence bigint)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_step(job bigint, name text, output jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.refuse_worker(type text)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.release(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.release_dependents(ids bigint[], told boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.release_job(id bigint, OUT was text, OUT now_is text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.renew(job bigint, fence bigint, lease interval DEFAULT '00:01:00'::interval, progress real DEFAULT NULL::real, progress_text text DEFAULT NULL::text, OUT until timestamp with time zone, OUT cancel boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.resolve(jobs bigint[], sure boolean, OUT ready integer, OUT failed bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.rest(j bellhop.jobqueue, until timestamp with time zone, event text, keep boolean DEFAULT false, children jsonb DEFAULT NULL::jsonb, by text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.rest_fault(pause interval, event text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.rest_runs(me bigint, jobs bigint[], fences bigint[], pauses bigint[], events text[], keeps boolean[] DEFAULT '{}'::boolean[], children text[] DEFAULT '{}'::text[])
 RETURNS SETOF bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.results_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.results_named(template text)
 RETURNS TABLE(key text, step text, path text[])
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.results_of_step(s jsonb)
 RETURNS TABLE(key text, step text, path text[])
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.resume(type text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.resume_type(type text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retain_changes(age bigint, most bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retain_events(age bigint, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retain_jobs(past bigint, most integer, types text[], states text[], ages bigint[], keyed bigint, archive text, OUT deleted integer, OUT last bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retain_runs(states text[], ages bigint[], most integer, archive text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retention_begin(me bigint, every interval)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retention_goes_on(me bigint, more bigint, over boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry_along(root bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry_attached(job bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry_behind(id bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry_from(id bigint, step text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.retry_job(id bigint, OUT was_in text, OUT now_is text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.ring()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.ring_over(jobs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.ring_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.rjm_setup(id text, config text, prio text DEFAULT 'n'::text, blocks text[] DEFAULT '{}'::text[], files text[] DEFAULT '{}'::text[], inside bigint DEFAULT NULL::bigint, locks text[] DEFAULT NULL::text[])
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.role_for(login text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.row_event()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.row_job_key(name text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.row_named(source text, key text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.row_passed_over(called text, remark text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.rows_before(attachment bigint, key text, OUT there boolean, OUT asks boolean, OUT before integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO, MDY'
 SET "IntervalStyle" TO 'postgres'
 SET bytea_output TO 'hex'
 SET extra_float_digits TO '1';

CREATE OR REPLACE FUNCTION bellhop.rows_rate(rate real, since timestamp with time zone, ended integer)
 RETURNS real
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.run_ended(id bigint, state text, reason text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_nestloop TO 'on'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.run_of_event(w bellhop.workflow, event text, at timestamp with time zone, given jsonb, safely boolean)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_as_archived(ids bigint[])
 RETURNS TABLE(job bigint, "row" jsonb)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_forgotten(ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_go_on(called text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_lost(workflow text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_moved(dummies bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.runs_wait(called text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.save_step(job bigint, fence bigint, name text, output jsonb DEFAULT NULL::jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.schedule_of(called text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sees(watches jsonb, called text, sensor jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_events(instance bigint, called text, events text[], given jsonb[], place jsonb DEFAULT NULL::jsonb, remark text DEFAULT NULL::text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_failing(instance bigint, called text, why text)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_faults(s jsonb, workflow text)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_kind(definition jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_lag(instance bigint, called text, lag bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_of(called text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_parameters(definition jsonb, given jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_queue(definition jsonb, given jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensor_room(definition jsonb, given jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensors_begin()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sensors_next(instance bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.server_now()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.session_of(session bytea)
 RETURNS TABLE(login text, role text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_ahead(j bellhop.jobqueue, OUT starts bigint, OUT next text)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_beside(most integer)
 RETURNS TABLE(job bigint, type text, priority integer, share text, age double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.share_by_template()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_came()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_set(type text, name text, weight real)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_standing(most integer)
 RETURNS TABLE(type text, priority integer, now double precision, name text, weight double precision, tag double precision, began boolean, came bigint, idle boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_template_told(type text, template text, parts text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.share_type_bit(type text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.shares(type text DEFAULT NULL::text)
 RETURNS TABLE(type text, name text, weight real, waiting bigint, running bigint, started bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sign_in(digest bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.signed_in(link bytea, session bytea)
 RETURNS TABLE(login text, role text)
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.since(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sketch_in(what text[], names text[], buckets integer[], counts integer[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.sleep(job bigint, fence bigint, pause interval)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.start_ahead(attachment bigint, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off';

CREATE OR REPLACE FUNCTION bellhop.starts_workflows(instance bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.step_again(run bigint, jobs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.step_fault(s jsonb, vals jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.steps(job bigint, fence bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.steps_of(job bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.stop_instances(name text, now boolean, said timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.submit(type text, args text DEFAULT NULL::text, msq text DEFAULT NULL::text, repeat text DEFAULT NULL::text, run_on text DEFAULT NULL::text, key text DEFAULT NULL::text, priority integer DEFAULT 0, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, held boolean DEFAULT false, vars jsonb DEFAULT NULL::jsonb, locks text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, on_failure text DEFAULT 'fail'::text, traceparent text DEFAULT NULL::text, after bigint[] DEFAULT NULL::bigint[], after_keys text[] DEFAULT NULL::text[], wanted text[] DEFAULT '{succeeded}'::text[], once text DEFAULT 'ever'::text, per interval DEFAULT NULL::interval, replace boolean DEFAULT false, not_after timestamp with time zone DEFAULT NULL::timestamp with time zone, batch bigint DEFAULT NULL::bigint, share text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.submit_replace(old bellhop.jobqueue, type text, args text, msq text, repeat text, vars jsonb, priority smallint, priority_name text, run_at timestamp with time zone, max_attempts integer, timeout interval, share text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.table_sensor()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.table_watched(called text, sensor jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.take(types text[], n integer DEFAULT 1, lease interval DEFAULT '00:01:00'::interval)
 RETURNS TABLE(id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamp with time zone, steps jsonb, event jsonb)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.take_attached(id bigint, OUT taken integer, OUT ended integer)
 RETURNS record
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.take_events(most integer, safely boolean)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.taken_ahead()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.takes(only_priorities integer[], only_names text, priority integer, priority_name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
 SELECT (((only_priorities IS NULL) AND (only_names IS NULL)) OR (priority = ANY (only_priorities)) OR (priority_name ~ only_names));
END;

CREATE OR REPLACE FUNCTION bellhop.tell_shares(type text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET client_min_messages TO 'notice';

CREATE OR REPLACE FUNCTION bellhop.tells_of(tells text[], needs text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.template_share(type text, args text, key text, vars jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.took(span interval)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.turn_ends(attachment bigint, digests bytea[], OUT ended integer, OUT good integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.turn_failed(id bigint, why text, login boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.turn_record(id bigint, whats text[], keys text[], lines text[], rows_ text[], OUT taken integer, OUT ended integer, OUT aside integer, OUT ahead integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.turn_stranger(attachment bigint, login name)
 RETURNS name
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.turn_takes(a bellhop.attachment, places integer, whats text[], keys text[], lines text[], rows_ text[], OUT done integer[], OUT started integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off';

CREATE OR REPLACE FUNCTION bellhop.turn_trouble(attachment bigint)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

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
 SET quote_all_identifiers TO 'off';

CREATE OR REPLACE FUNCTION bellhop.turns_apart(login name)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.types_that_start()
 RETURNS TABLE(type text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.types_there(type text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.unassigned()
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.unmet_because(needs bigint, OUT why text, OUT root bigint)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.unserved(definition jsonb)
 RETURNS TABLE(code text, sentence text, next text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.unwanted_remote(job bigint)
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.value_fault(v jsonb, place text, wants text, example text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.wait(id bigint, timeout interval DEFAULT NULL::interval, OUT state text, OUT exit_code integer, OUT result jsonb, OUT error text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.wait_for_gate(key bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.waited_for(most integer, beyond text DEFAULT ''::text)
 RETURNS TABLE(behind text)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.wake(event text, most integer, OUT n integer, OUT done boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.wake_sealed(keys text[])
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.wanted_locks(locks text[], waiting_for text, behind text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.watch_table(called text, old jsonb, new jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp'
 SET lock_timeout TO '10s';

CREATE OR REPLACE FUNCTION bellhop.watched(instance bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.watched_table(named text)
 RETURNS regclass
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.weigh(jobs bigint[], sure boolean, OUT ready integer, OUT failed bigint[])
 RETURNS record
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.whole_runs(runs bigint[], states text[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.why_waiting(type text, run_on text DEFAULT NULL::text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.without_last_breaks(definition jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_apply(definition jsonb, version integer DEFAULT NULL::integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_change(name text, what text, version integer DEFAULT NULL::integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_event(name text, event text, parameters jsonb DEFAULT '{}'::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_faults(definition jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET jit TO 'off'
 SET enable_nestloop TO 'off';

CREATE OR REPLACE FUNCTION bellhop.workflow_http(name text, event text DEFAULT NULL::text, payload jsonb DEFAULT '{}'::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_retry(run bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_run(name text, parameters jsonb DEFAULT '{}'::jsonb, steps text[] DEFAULT NULL::text[], event text DEFAULT NULL::text)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.workflow_write(name text, definition jsonb, active boolean, what text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.works_for(type text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop', 'pg_temp';

CREATE OR REPLACE FUNCTION bellhop.zone_known(zone text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp';
