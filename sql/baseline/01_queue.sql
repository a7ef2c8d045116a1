-- The queue: one row is one job. An INSERT submits it, and a rolled-back INSERT never did.
--
-- These files are the schema up to version 48 in one transaction; ../migrations/0049… change it from there. Functions,
-- triggers and most views stand in ../functions and ../../triggers, and the rights in 12_rights.sql. The tables
-- schema_version and schema_script are the migrator's own (../migrate/migrate.go).

create table bellhop.jobqueue (
  -- Columns of a fixed width come first, then those that are mostly NULL: a narrow row is a fast row.
  id               bigint      generated always as identity primary key,
  fence            bigint      not null default 0, -- grows with each claim: (id, fence) names one claim
  created_at       timestamptz not null default clock_timestamp(),
  instance         bigint,                         -- the instance that has claimed it
  started_at       timestamptz,                    -- of the first attempt
  attempt_at       timestamptz,                    -- start of this attempt; NULL: started_at is
  ended_at         timestamptz,
  run_at           timestamptz,                    -- not before
  attempt          integer     not null default 0,
  max_attempts     integer     not null default 1,
  exit_code        integer,
  successes        integer,
  priority         smallint    not null default 0, -- -20 (first) to 19 (last)
  deaths           smallint    not null default 0, -- agents that have died of it
  held             boolean     not null default false,
  cancel_requested boolean     not null default false,
  cancel_now       boolean     not null default false,
  type             text        not null,
  state            text        not null default 'ready',
  on_failure       text        not null default 'fail', -- if a needed job ends otherwise than wanted: fail, block or run
  args             text,                           -- one line, for the agent
  msq              text,                           -- a query whose rows are the job's items, in place of args
  repeat           text,                           -- of the query: once, or until_empty
  run_on           text,                           -- a host, or a key that a host serves
  key              text,                           -- one job for each key
  priority_name    text,
  timeout          interval,
  vars             jsonb,                          -- strings by name
  locks            text[],                         -- level:name=exclusive, level:*=shared, level:?=shared, or big
  reasons          text[],
  host             text,
  child            text,
  error            text,
  waiting_for      text,
  items_total      bigint,
  items_done       bigint,
  items_failed     bigint,
  traceparent      text        default nullif(current_setting('bellhop.traceparent', true), ''),

  killed_by        text,                           -- the command killjob that killed it
  unmet            integer,                        -- needed jobs that have not ended as wanted; NULL: none
  ended_by         bigint,                         -- the job whose end was this job's end too
  -- A claim that has found nothing remembers its snapshot. Later claims look only at rows which that snapshot did not
  -- show, and so pass no dead index entries that an old snapshot keeps.
  txid             xid8        not null default pg_current_xact_id(),
  -- Not current_user: bellhop.submit runs with the rights of the schema's owner. text: a name takes 64 bytes of each row.
  submitted_by     text        default case when pg_catalog.current_setting('role') = 'none' then session_user::pg_catalog.text
                                            else pg_catalog.current_setting('role') end,
  reason           text,
  spawned_at       timestamptz,                    -- launch of the child that the attempt had to wait for; NULL: it was up
  lost             integer     not null default 0, -- runs in lost_run
  behind           text,
  result           jsonb,                          -- written with the outcome
  progress         real,
  progress_text    text,
  -- max_attempts counts though it is 1, the default; else the type's policy counts (agents[].retry).
  own_attempts     boolean,
  run              bigint,                         -- not in any index: bellhop.step finds the jobs of a run
  step             text,
  not_after        timestamptz,                    -- the times of these stand in deadline, too
  ended_as         text,                           -- of one that succeeded: no_data or skipped; only the scheduler writes it

  -- The other rules of values are a trigger's (../../triggers/refuse.sql), which costs a claim and an outcome nothing.
  constraint jobqueue_state_known check (state in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running',
                                                   'succeeded', 'failed', 'cancelled', 'quarantined'))
);
comment on table bellhop.jobqueue is 'One row is one job: INSERT submits it, a rolled-back INSERT never did.';
comment on column bellhop.jobqueue.txid is 'the transaction that submitted the job; for the scheduler alone';
comment on column bellhop.jobqueue.submitted_by is 'the role that had been SET, or else the login; set by default only';
comment on column bellhop.jobqueue.reason is 'the part of error that no agent wrote; NULL: all of it';
comment on column bellhop.jobqueue.behind is 'The lock behind which a ready job waits; NULL or empty: the next pass looks at it.';
comment on column bellhop.jobqueue.result is 'what its agent gave back; for operators and its submitter';
comment on column bellhop.jobqueue.progress is 'how far it is, 0 to 1, by what its agent says';
comment on column bellhop.jobqueue.run is 'The run of a workflow that the job is a part of.';
comment on column bellhop.jobqueue.step is 'Its step; NULL in a run: a dummy at which the run begins, or ends.';
comment on column bellhop.jobqueue.not_after is 'when it has not begun by then, it is cancelled: expired';

-- Each index is partial, and holds no row that is over (but for keys and failures). Every claim and outcome tests each
-- predicate, so the rarest condition comes first, and one index serves several readers.

-- A key is unique for the row's life, finished rows too.
create unique index jobqueue_key on bellhop.jobqueue (key) where key is not null;
-- The ready jobs of one type in their order, which a claim walks. Jobs with locks are not in it: there may be very many.
create index jobqueue_ready on bellhop.jobqueue (type, priority, id)
  where state = 'ready' and not held and run_on is null and locks is null;
-- The same of jobs that name a place. Those for a host that is away hold up no other, and jobs without a place pay nothing.
create index jobqueue_pinned on bellhop.jobqueue (type, run_on, priority, id)
  where state = 'ready' and not held and run_on is not null and locks is null;
-- The jobs of one type that came after a snapshot (txid). "txid > 0" is always true: it keeps the planner from this index
-- in statements that do not say so, where without statistics it would look as good as jobqueue_ready.
create index jobqueue_floor on bellhop.jobqueue (txid, type) where state = 'ready' and txid > '0';
-- Passes of locks: the jobs that they have to look at (behind is empty), and the jobs behind each lock, in order.
create index jobqueue_locked on bellhop.jobqueue (coalesce(behind, ''), type, priority, id)
  where locks is not null and state = 'ready' and not held;
-- The jobs of an instance: for cancels, take-over and the audit.
create index jobqueue_taken on bellhop.jobqueue (instance) where state in ('assigned', 'running');
-- All rows that no claim looks at: those that the clock makes ready ('scheduled', or 'ready' with a run_at where triggers
-- were disabled), those changed by hand whose state does not say so yet, and those that wait or failed, for `bellhop ls`.
create index jobqueue_parked on bellhop.jobqueue (state, held, run_at, id)
  where state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') or (state = 'ready' and run_at is not null);

-- When the instances have to look at a job with a not_after. A table of its own: jobs without one pay nothing for it.
create table bellhop.deadline (
  job bigint      primary key,
  at  timestamptz not null
);
create index deadline_at on bellhop.deadline (at);

-- RJM's jobs: what is special about them is the files to delete after a success.
create table bellhop.rjm (
  job     bigint primary key,
  files   text[] not null default '{}', -- as the set-up names them: relative to rjm_wd of the host that ran the job
  -- After the success: done (the files are there), dusting (they are being deleted), old (they are deleted).
  state   text   not null check (state in ('done', 'dusting', 'old')),
  trouble text                          -- the error of the deletion
);
comment on table bellhop.rjm is 'Jobs that rjmsetup made, and the files to delete when one has succeeded.';
-- Jobs whose files are still to be deleted.
create index rjm_dusty on bellhop.rjm (job) where state <> 'old';
