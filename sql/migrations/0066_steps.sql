-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.jobqueue, for a moment.
-- Jobs keep what they have done, and sleep or await an event without a slot (../functions/steps.sql). An older binary
-- gives its agents no steps: a job that has some begins from nought there. Upgrade all instances first.
-- stepped: something is kept of it, and its line says what. NULL: nothing, as of nearly all.
alter table bellhop.jobqueue add column stepped boolean;

-- What attempts have done, by job: a step's name and output. Readers see it through the view bellhop.step.
create table bellhop.saved_step (
  job    bigint      not null,
  name   text        not null,
  output jsonb       not null,
  bytes  integer     not null, -- of the output, as text
  at     timestamptz not null default clock_timestamp(),
  primary key (job, name)
);
comment on table bellhop.saved_step is 'What earlier attempts of a job have done: its steps, its sleeps, and the events that came.';

-- Events that an app has told of: the first of a name stays.
create table bellhop.emitted (
  event   text        primary key,
  payload jsonb,
  at      timestamptz not null default clock_timestamp(),
  by      text        not null,
  -- false: jobs may await it that the emitting transaction did not see; an instance looks again.
  counted boolean     not null default true
);
comment on table bellhop.emitted is 'Events by their names. Jobs await them; the first of a name stays.';
create index emitted_uncounted on bellhop.emitted (event) where not counted;
create index emitted_at on bellhop.emitted (at);

-- The event that a job awaits, or awaited last.
create table bellhop.awaits (
  job     bigint      primary key,
  event   text        not null,
  since   timestamptz not null default clock_timestamp(),
  until   timestamptz not null,
  waits   boolean     not null default true,  -- false: the event came, or the job runs again
  told    boolean     not null default false, -- a later attempt knows what came
  counted boolean     not null default false  -- false: the event may have been emitted meanwhile; an instance looks
);
comment on table bellhop.awaits is 'The event for which a job waits, or waited last.';
create index awaits_event on bellhop.awaits (event) where waits;
create index awaits_uncounted on bellhop.awaits (job) where not counted;

revoke all on bellhop.saved_step, bellhop.emitted, bellhop.awaits from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select (event, at, by) on bellhop.emitted to bellhop_reader;
    grant select on bellhop.awaits to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.saved_step, bellhop.emitted, bellhop.awaits to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.saved_step, bellhop.emitted, bellhop.awaits to bellhop_scheduler;
  end if;
end
$$;

-- The jobs of runs are bellhop.run_step now: bellhop.step are the steps that a job has kept.
drop view if exists bellhop.step;
drop function if exists bellhop.take(text[], integer, interval);
drop function if exists bellhop.claim_for_worker(text[], integer, interval);
