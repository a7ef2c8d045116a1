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

table bellhop.host (
  instance bigint not null,
  name text not null,
  slots integer not null,
  serves text[] not null default '{}'::text[]
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
  gone_because text
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
  traceparent text default NULLIF(current_setting('bellhop.traceparent'::text, true), ''::text)
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
  traceparent text
);

-- constraints
alter table bellhop.agent add constraint agent_instance_fkey FOREIGN KEY (instance) REFERENCES instance(id) ON DELETE CASCADE;
alter table bellhop.agent add constraint agent_pkey PRIMARY KEY (instance, type);
alter table bellhop.attempt_past add constraint attempt_past_pkey PRIMARY KEY (job, attempt, fence);
alter table bellhop.child add constraint child_pkey PRIMARY KEY (instance, host, name);
alter table bellhop.host add constraint host_instance_fkey FOREIGN KEY (instance) REFERENCES instance(id) ON DELETE CASCADE;
alter table bellhop.host add constraint host_pkey PRIMARY KEY (instance, name);
alter table bellhop.instance add constraint instance_pkey PRIMARY KEY (id);
alter table bellhop.instance add constraint instance_state_check CHECK ((state = ANY (ARRAY['live'::text, 'gone'::text])));
alter table bellhop.item add constraint item_pkey PRIMARY KEY (job, fence, item);
alter table bellhop.jobqueue add constraint jobqueue_args_one_line CHECK (((strpos(args, '
'::text) = 0) AND (strpos(args, ''::text) = 0)));
alter table bellhop.jobqueue add constraint jobqueue_args_or_msq CHECK (((args IS NULL) OR (msq IS NULL)));
alter table bellhop.jobqueue add constraint jobqueue_key_not_empty CHECK (((key <> ''::text) AND (length(key) <= 1000)));
alter table bellhop.jobqueue add constraint jobqueue_locks_well_formed CHECK (((locks IS NULL) OR locks_ok(locks)));
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
alter table bellhop.log add constraint log_pkey PRIMARY KEY (id);
alter table bellhop.schema_script add constraint schema_script_pkey PRIMARY KEY (name);
alter table bellhop.schema_version add constraint schema_version_pkey PRIMARY KEY (version);

-- indexes
CREATE INDEX instance_live ON bellhop.instance USING btree (id) WHERE (state = 'live'::text);
CREATE INDEX jobqueue_by_hand ON bellhop.jobqueue USING btree (id) WHERE (((state = 'held'::text) AND (NOT held)) OR ((state = 'scheduled'::text) AND (run_at IS NULL)));
CREATE INDEX jobqueue_due ON bellhop.jobqueue USING btree (run_at) WHERE ((run_at IS NOT NULL) AND (state = ANY (ARRAY['scheduled'::text, 'ready'::text])));
CREATE UNIQUE INDEX jobqueue_key ON bellhop.jobqueue USING btree (key) WHERE (key IS NOT NULL);
CREATE INDEX jobqueue_ready ON bellhop.jobqueue USING btree (type, priority, id) WHERE ((state = 'ready'::text) AND (NOT held));
CREATE INDEX jobqueue_taken ON bellhop.jobqueue USING btree (instance) WHERE (state = ANY (ARRAY['assigned'::text, 'running'::text]));
CREATE INDEX jobqueue_waiting ON bellhop.jobqueue USING btree (state, id) WHERE (state = ANY (ARRAY['held'::text, 'blocked'::text, 'scheduled'::text, 'failed'::text, 'quarantined'::text]));
CREATE INDEX log_job ON bellhop.log USING btree (job, id);

CREATE OR REPLACE FUNCTION bellhop.arrange()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
begin
  update bellhop.jobqueue j
     set state = case when j.held then 'held'
                      when j.run_at > clock_timestamp() then 'scheduled'
                      else j.state end,
         priority = coalesce(bellhop.priority_of(j.priority_name), j.priority)
   where j.id = new.id and j.state = 'ready';
  if new.run_at is not null then
    perform pg_notify('bellhop_due', ''); -- the timer for the next due row may have to be set earlier
  end if;
  return null;
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
       set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true
     where j.id = cancel.id;
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

CREATE OR REPLACE FUNCTION bellhop.kick()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog'
AS $function$ select pg_notify('bellhop', '') $function$;

CREATE OR REPLACE FUNCTION bellhop.locks_ok(locks text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce(bool_and(coalesce(l, '') ~ '^(big|[A-Za-z0-9_-]+:(\*|\?|[^=\s]+)=(exclusive|shared))$'), true)
  from unnest(locks) l
$function$;

CREATE OR REPLACE FUNCTION bellhop.priority_of(name text)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog'
AS $function$
  select (case when left(lower(name), 1) between 'a' and 'z' then ascii(lower(name)) - ascii('n') else -20 end)::smallint
$function$;

CREATE OR REPLACE FUNCTION bellhop.release(id bigint)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'bellhop'
AS $function$
#variable_conflict use_column
declare
  now_is text;
begin
  update bellhop.jobqueue j
     set held = false, state = case when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
   where j.id = release.id and j.state = 'held'
  returning j.state into now_is;
  if found then
    perform bellhop.kick();
    return now_is;
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = release.id;
  return now_is;
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
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false,
         items_total = null, items_done = null, items_failed = null
   where j.id = retry.id
  returning j.state into now_is;
  perform bellhop.kick();
  return now_is;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.ring()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform pg_notify('bellhop', '');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION bellhop.submit(type text, args text DEFAULT NULL::text, msq text DEFAULT NULL::text, repeat text DEFAULT NULL::text, run_on text DEFAULT NULL::text, key text DEFAULT NULL::text, priority integer DEFAULT 0, priority_name text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, held boolean DEFAULT false, vars jsonb DEFAULT NULL::jsonb, locks text[] DEFAULT NULL::text[], reasons text[] DEFAULT NULL::text[], max_attempts integer DEFAULT 1, timeout interval DEFAULT NULL::interval, on_failure text DEFAULT 'fail'::text, traceparent text DEFAULT NULL::text)
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
  if new_id is not null then
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
  if differ <> '{}' then
    raise unique_violation using
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  return old.id;
end
$function$;

-- triggers
CREATE TRIGGER _100_arrange AFTER INSERT ON bellhop.jobqueue FOR EACH ROW WHEN ((new.held OR (new.run_at IS NOT NULL) OR (new.priority_name IS NOT NULL))) EXECUTE FUNCTION arrange();
CREATE TRIGGER _900_ring AFTER INSERT ON bellhop.jobqueue FOR EACH STATEMENT EXECUTE FUNCTION ring();

-- rights
grant SELECT on bellhop.agent to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.agent to bellhop_scheduler;
grant SELECT on bellhop.attempt to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.attempt to bellhop_scheduler;
grant SELECT on bellhop.attempt_past to bellhop_operator;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.attempt_past to bellhop_scheduler;
grant SELECT on bellhop.child to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.child to bellhop_scheduler;
grant SELECT on bellhop.host to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.host to bellhop_scheduler;
grant SELECT on bellhop.instance to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.instance to bellhop_scheduler;
grant SELECT on bellhop.item to bellhop_operator;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.item to bellhop_scheduler;
grant SELECT on bellhop.job to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.job to bellhop_scheduler;
grant SELECT on bellhop.jobqueue to bellhop_operator;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.jobqueue to bellhop_scheduler;
grant INSERT (run_at, max_attempts, priority, held, type, on_failure, args, msq, repeat, run_on, key, priority_name, timeout, vars, locks, reasons, traceparent), SELECT (id) on bellhop.jobqueue to bellhop_submitter;
grant SELECT on bellhop.log to bellhop_operator;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.log to bellhop_scheduler;
grant SELECT on bellhop.schema_script to bellhop_operator;
grant SELECT on bellhop.schema_script to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.schema_script to bellhop_scheduler;
grant SELECT on bellhop.schema_script to bellhop_submitter;
grant SELECT on bellhop.schema_version to bellhop_operator;
grant SELECT on bellhop.schema_version to bellhop_reader;
grant DELETE, INSERT, SELECT, UPDATE on bellhop.schema_version to bellhop_scheduler;
grant SELECT on bellhop.schema_version to bellhop_submitter;
grant EXECUTE on function bellhop.cancel to bellhop_operator;
grant EXECUTE on function bellhop.cancel to bellhop_scheduler;
grant EXECUTE on function bellhop.kick to bellhop_scheduler;
grant EXECUTE on function bellhop.kick to bellhop_submitter;
grant EXECUTE on function bellhop.locks_ok to bellhop_scheduler;
grant EXECUTE on function bellhop.locks_ok to bellhop_submitter;
grant EXECUTE on function bellhop.priority_of to bellhop_scheduler;
grant EXECUTE on function bellhop.priority_of to bellhop_submitter;
grant EXECUTE on function bellhop.release to bellhop_operator;
grant EXECUTE on function bellhop.release to bellhop_scheduler;
grant EXECUTE on function bellhop.retry to bellhop_operator;
grant EXECUTE on function bellhop.retry to bellhop_scheduler;
grant EXECUTE on function bellhop.submit to bellhop_scheduler;
grant EXECUTE on function bellhop.submit to bellhop_submitter;
grant USAGE on schema bellhop to bellhop_operator;
grant USAGE on schema bellhop to bellhop_reader;
grant USAGE on schema bellhop to bellhop_scheduler;
grant USAGE on schema bellhop to bellhop_submitter;
grant USAGE on sequence bellhop.instance_id_seq to bellhop_scheduler;
grant USAGE on sequence bellhop.jobqueue_id_seq to bellhop_scheduler;
grant USAGE on sequence bellhop.log_id_seq to bellhop_scheduler;
