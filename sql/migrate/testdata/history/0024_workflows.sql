-- Workflows: definitions with their versions, runs, events, and what their sensors wait for.
-- Locks here: ACCESS EXCLUSIVE on the queue for a moment, while it gets two columns; no row is read.

-- A run's jobs name it, and their step. Not in any index: who needs the jobs of a run asks bellhop.step.
alter table bellhop.jobqueue add column run bigint, add column step text;
comment on column bellhop.jobqueue.run is 'The run of a workflow that the job is a part of.';
comment on column bellhop.jobqueue.step is 'Its step; NULL in a run: a dummy at which the run begins, or ends.';

create table bellhop.workflow (
  name       text        primary key constraint workflow_name check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  project    text        not null default '',
  active     boolean     not null,
  version    integer     not null, -- grows with each change, whatever changes
  definition jsonb       not null, -- without name and active
  instance   bigint,               -- who has its sensor
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text        not null
);
comment on table bellhop.workflow is 'Definitions; bellhop.workflow_apply and its like change them.';

create table bellhop.workflow_past (
  workflow   text        not null,
  version    integer     not null,
  what       text        not null check (what in ('created', 'changed', 'activated', 'deactivated', 'deleted')),
  active     boolean     not null,
  definition jsonb       not null,
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text        not null,
  primary key (workflow, version)
);
comment on table bellhop.workflow_past is 'Every version that a workflow had, the present one too.';

-- sensor: what an active workflow waits for. next_fire: when somebody has to look; -infinity: at once, to find that out;
-- NULL or infinity: nothing that the clock says.
create table bellhop.sensor (
  workflow  text        primary key,
  kind      text        not null,
  source    text, -- the workflow whose runs it waits for
  next_fire timestamptz,
  fired_at  timestamptz,
  problem   text, -- why its last event came to no run
  since     timestamptz
);
create index sensor_next on bellhop.sensor (next_fire) where next_fire < 'infinity';
create index sensor_source on bellhop.sensor (source) where source is not null;

create table bellhop.run (
  id           bigint      generated always as identity primary key,
  workflow     text        not null,
  version      integer     not null,
  event        text,
  triggered_by text        not null,
  state        text        not null check (state in ('queued', 'running', 'succeeded', 'failed', 'skipped')),
  parameters   jsonb       not null default '{}',
  created_at   timestamptz not null default clock_timestamp(),
  started_at   timestamptz,
  ended_at     timestamptz,
  reason       text,   -- why it failed or was skipped
  gate         bigint, -- the dummy for which its first steps wait, where a run was open when it came
  last         bigint  -- the dummy that waits for all of its steps: when that passes, the run has ended
);
create index run_open on bellhop.run (workflow, id) where state in ('queued', 'running');
create index run_of on bellhop.run (workflow, id);

-- event: what starts a run, once: its name is unique in its workflow. run NULL: nobody has seen to it yet.
create table bellhop.event (
  workflow   text        not null,
  event      text        not null check (event <> '' and length(event) <= 200),
  at         timestamptz not null default clock_timestamp(),
  run        bigint,
  slot       timestamptz,
  parameters jsonb       not null default '{}',
  primary key (workflow, event)
);
create index event_open on bellhop.event (at) where run is null;
create index event_of on bellhop.event (workflow, at);

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.workflow, bellhop.workflow_past, bellhop.sensor, bellhop.run, bellhop.event
      to bellhop_scheduler;
    grant select on bellhop.workflow, bellhop.workflow_past, bellhop.sensor, bellhop.run, bellhop.event to bellhop_operator;
    -- No payload to who only looks: neither args nor parameters.
    grant select (name, project, active, version, instance, changed_at, changed_by) on bellhop.workflow to bellhop_reader;
    grant select (workflow, version, what, active, changed_at, changed_by) on bellhop.workflow_past to bellhop_reader;
    grant select on bellhop.sensor to bellhop_reader;
    grant select (id, workflow, version, event, triggered_by, state, created_at, started_at, ended_at, reason) on bellhop.run to bellhop_reader;
    grant select (workflow, event, at, run, slot) on bellhop.event to bellhop_reader;
  end if;
end
$$;
