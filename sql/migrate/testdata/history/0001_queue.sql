-- The queue and what is kept of it. Forward only: this file is never edited
-- once it has been released; what changes later is a file of its own.

create schema if not exists bellhop;

-- Each element names a lock: "level:name=exclusive", "level:*=shared",
-- "level:?=shared", or "big".
create function bellhop.locks_ok(locks text[]) returns boolean
language sql immutable strict parallel safe
set search_path = pg_catalog
as $$
  select coalesce(bool_and(coalesce(l, '') ~ '^(big|[A-Za-z0-9_-]+:(\*|\?|[^=\s]+)=(exclusive|shared))$'), true)
  from unnest(locks) l
$$;

-- One row is one job. Fixed-width columns first, then what is mostly NULL: a
-- narrow row is a fast row.
create table bellhop.jobqueue (
  id               bigint generated always as identity primary key,
  fence            bigint      not null default 0,
  created_at       timestamptz not null default clock_timestamp(),
  instance         bigint,
  started_at       timestamptz,
  attempt_at       timestamptz,
  ended_at         timestamptz,
  run_at           timestamptz,
  attempt          integer     not null default 0,
  max_attempts     integer     not null default 1,
  exit_code        integer,
  successes        integer,
  priority         smallint    not null default 0,
  deaths           smallint    not null default 0,
  held             boolean     not null default false,
  cancel_requested boolean     not null default false,
  cancel_now       boolean     not null default false,
  type             text        not null,
  state            text        not null default 'ready',
  on_failure       text        not null default 'fail',
  args             text,
  msq              text,
  repeat           text,
  run_on           text,
  key              text,
  priority_name    text,
  timeout          interval,
  vars             jsonb,
  locks            text[],
  reasons          text[],
  host             text,
  child            text,
  error            text,
  waiting_for      text,
  items_total      bigint,
  items_done       bigint,
  items_failed     bigint,
  traceparent      text        default nullif(current_setting('bellhop.traceparent', true), ''),

  constraint jobqueue_type_named        check (type <> ''),
  constraint jobqueue_args_or_msq       check (args is null or msq is null),
  constraint jobqueue_args_one_line     check (strpos(args, e'\n') = 0 and strpos(args, e'\r') = 0),
  constraint jobqueue_msq_not_empty     check (msq ~ '\S'),
  constraint jobqueue_repeat_known      check (repeat in ('once', 'until_empty')),
  constraint jobqueue_repeat_needs_msq  check (repeat is null or msq is not null),
  constraint jobqueue_priority_range    check (priority between -20 and 19),
  constraint jobqueue_priority_name     check (priority_name ~ '^[A-Za-z0-9]+$'),
  constraint jobqueue_key_not_empty     check (key <> '' and length(key) <= 1000),
  constraint jobqueue_run_on_not_empty  check (run_on <> ''),
  constraint jobqueue_max_attempts      check (max_attempts >= 1),
  constraint jobqueue_timeout_positive  check (timeout > interval '0'),
  constraint jobqueue_on_failure_known  check (on_failure in ('fail', 'block', 'run')),
  constraint jobqueue_locks_well_formed check (locks is null or bellhop.locks_ok(locks)),
  constraint jobqueue_vars_are_strings  check (vars is null or (jsonb_typeof(vars) = 'object'
                                               and not jsonb_path_exists(vars, 'strict $.* ? (@.type() != "string")'))),
  constraint jobqueue_state_known       check (state in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running',
                                                         'succeeded', 'failed', 'cancelled', 'quarantined'))
);

-- A key is unique for the row's life, finished rows too.
create unique index jobqueue_key on bellhop.jobqueue (key) where key is not null;
-- What a claim walks: the ready ones of one type in their order. Finished rows are not in it.
create index jobqueue_ready on bellhop.jobqueue (type, priority, id) where state = 'ready' and not held;
-- What an instance holds: for cancels, take-over and the audit.
create index jobqueue_taken on bellhop.jobqueue (instance) where state in ('assigned', 'running');
-- What the clock will make ready. A 'ready' row with a run_at is one that came in with the triggers disabled.
create index jobqueue_due on bellhop.jobqueue (run_at) where run_at is not null and state in ('scheduled', 'ready');
-- Rows changed by hand whose state does not say so yet: normally none, so this index is empty.
create index jobqueue_by_hand on bellhop.jobqueue (id)
  where (state = 'held' and not held) or (state = 'scheduled' and run_at is null);
-- What is not over and what failed: `bellhop ls`.
create index jobqueue_waiting on bellhop.jobqueue (state, id) where state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined');

comment on table bellhop.jobqueue is 'One row is one job: INSERT submits it, a rolled-back INSERT never did.';

-- Attempts that are not the job's row itself: those that failed, and every one
-- after the first. bellhop.attempt shows all of them.
create table bellhop.attempt_past (
  job        bigint      not null,
  attempt    integer     not null,
  fence      bigint      not null,
  host       text,
  child      text,
  started_at timestamptz,
  ended_at   timestamptz,
  exit_code  integer,
  error      text,
  successes  integer,
  primary key (job, attempt, fence)
);

create view bellhop.attempt as
  select job, attempt, host, child, started_at, ended_at, exit_code, error, successes
    from bellhop.attempt_past
  union all
  select j.id, j.attempt, j.host, j.child, coalesce(j.attempt_at, j.started_at), j.ended_at, j.exit_code, j.error, j.successes
    from bellhop.jobqueue j
   where j.attempt > 0 and j.started_at is not null
     and j.state in ('running', 'succeeded', 'failed', 'cancelled', 'quarantined')
     and not exists (select 1 from bellhop.attempt_past p where p.job = j.id and p.attempt = j.attempt);

comment on view bellhop.attempt is 'Every try at a job, the running one included.';

-- What agents said: kept against the job.
create table bellhop.log (
  id      bigint generated always as identity primary key,
  job     bigint,
  attempt integer,
  child   text,
  host    text,
  level   text        not null,
  at      timestamptz not null default clock_timestamp(),
  line    text        not null
);
create index log_job on bellhop.log (job, id);

-- Items of MSQ jobs that failed. The others are counted in the job's row only.
create table bellhop.item (
  job       bigint      not null,
  fence     bigint      not null,
  item      bigint      not null,
  line      text        not null,
  tries     integer     not null,
  exit_code integer,
  error     text,
  at        timestamptz not null default clock_timestamp(),
  primary key (job, fence, item)
);
