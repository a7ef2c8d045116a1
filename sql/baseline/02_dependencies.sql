-- Graphs: a job can need others, and waits until they have ended as it wants. And with that, which jobs may start.

create table bellhop.dependency (
  job     bigint  not null, -- needs the other
  needs   bigint  not null,
  wanted  text[]  not null default '{succeeded}', -- ends of the other that count
  -- The other ended so; or in any way, if this job's on_failure is 'run'. It stays true after a retry of the other.
  met     boolean not null default false,
  -- The end of the other job counts this dependency. False: a round has to weigh it first. It came while the triggers
  -- were disabled; or it came, or could not be counted, in the moment in which the other job may have ended.
  counted boolean not null default false,
  primary key (job, needs),
  constraint dependency_not_itself  check (job <> needs),
  constraint dependency_wanted_ends check (wanted <> '{}' and wanted <@ array['succeeded', 'failed', 'cancelled', 'quarantined'])
);
comment on table bellhop.dependency is 'job waits until needs has ended in one of the wanted states.';
-- The jobs that an outcome may release.
create index dependency_open on bellhop.dependency (needs) where not met;
-- All jobs that need one: for `bellhop graph`, and for releases and deletions of jobs.
create index dependency_needs on bellhop.dependency (needs);
-- Normally empty. A claim looks here, and takes no job that is in it.
create index dependency_uncounted on bellhop.dependency (job) where not counted;

-- Two sessions that add dependencies to older jobs have to meet, and other sessions must not hold them up. Any session
-- can take an advisory lock; this lock only the trigger of the schema's owner can take.
create table bellhop.dependency_turn ();
comment on table bellhop.dependency_turn is 'a lock, and no rows: see dependencies_came()';

-- The one answer to "may it start?", whatever the triggers did: for claims, for counts of waiting jobs, and for the order
-- among jobs. The planner sees through the view: `run_on is null`, or `run_on = …`, beside it makes jobqueue_ready, or
-- jobqueue_pinned, fit; FOR UPDATE reaches the queue's row. It does not ask which host may take the job, nor for pauses.
create view bellhop.startable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     -- Asked once a statement, of an index that is normally empty: jobs without dependencies pay nothing.
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.startable is 'Jobs that may start now, as far as they themselves can tell.';

-- The same of jobs with locks, which start when the locks are free too.
create view bellhop.lockable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq, j.created_at, j.locks, j.reasons, coalesce(j.behind, '') as behind,
         j.args, j.key, j.vars, j.submitted_by
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.lockable is 'Jobs with locks that may start as soon as these are free.';

-- The columns of bellhop.job, for SQL functions in files that come before ../functions/readers.sql. That file puts the view in
-- their place which shows each caller its jobs, and gives the rights.
create view bellhop.job as
  select id, type, state, held, priority, priority_name, key, run_on, attempt, max_attempts, deaths, fence, host, child, instance,
         created_at, run_at, started_at, attempt_at, ended_at, exit_code, error, waiting_for, cancel_requested, on_failure, locks, reasons,
         (msq is not null) as is_msq, items_total, items_done, items_failed, traceparent, successes, unmet, ended_by
    from bellhop.jobqueue;
