-- Workflows: definitions with their versions, sensors, events and runs.

create table bellhop.workflow (
  name       text        primary key constraint workflow_name check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  project    text        not null default '',
  active     boolean     not null,
  version    integer     not null, -- grows with each change, whatever changes
  definition jsonb       not null, -- without name and active
  instance   bigint,               -- the instance that has its sensor
  changed_at timestamptz not null default clock_timestamp(),
  changed_by text        not null,
  notifies   boolean     not null generated always as (definition ? 'notify') stored
);
comment on table bellhop.workflow is 'Definitions; bellhop.workflow_apply and its like change them.';
create index workflow_instance on bellhop.workflow (instance) where active;

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

-- What an active workflow waits for.
create table bellhop.sensor (
  workflow  text          primary key,
  kind      text          not null,
  source    text,         -- the workflow whose runs it waits for
  next_fire timestamptz,  -- the next look; -infinity: at once, to find that out; NULL or infinity: no clock moves it
  fired_at  timestamptz,
  problem   text,         -- why its last event came to no run
  since     timestamptz,
  recent    timestamptz[] not null default '{}', -- starts, the latest first, as many as at_most says
  lag       bigint,       -- messages of a topic that are not read yet; NULL: not known, or none are kept
  held      timestamptz   -- the first slot that has not fired, if next_fire is when at_most lets it fire; NULL: next_fire is
);
create index sensor_next on bellhop.sensor (next_fire) where next_fire < 'infinity';
create index sensor_source on bellhop.sensor (source) where source is not null;
-- The sensors that watch something outside of the queue.
create index sensor_watched on bellhop.sensor (workflow) where kind in ('notify', 'file', 'kafka');

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
  gate         bigint, -- the dummy for which its first steps wait, if a run was open when it came
  last         bigint, -- the dummy that waits for all of its steps: the run ends with it
  endings      integer not null default 0 -- one that is retried ends again: run=5, then run=5/2, is the event for other workflows
);
create index run_open on bellhop.run (workflow, id) where state in ('queued', 'running');
create index run_of on bellhop.run (workflow, id);
create index run_ended on bellhop.run (ended_at) where ended_at is not null;
-- How long a run is kept depends on how it ended (retain_runs).
create index run_ended_as on bellhop.run (state, ended_at) where ended_at is not null;
-- The last success, for unless_success_within.
create index run_success on bellhop.run (workflow, ended_at) where state = 'succeeded';

-- What starts a run, once: its name is unique in its workflow.
create table bellhop.event (
  workflow   text        not null,
  event      text        not null check (event <> '' and length(event) <= 200),
  at         timestamptz not null default clock_timestamp(),
  run        bigint,     -- NULL: no instance has taken it yet
  slot       timestamptz,
  parameters jsonb       not null default '{}',
  primary key (workflow, event)
);
create index event_open on bellhop.event (at) where run is null;
create index event_of on bellhop.event (workflow, at);

-- The names of events that bring none of their own.
create sequence bellhop.event_number as bigint;

-- Sensors do not start workflows on the instances of this name; '': on none.
create table bellhop.manager_stop (
  name text        primary key,
  at   timestamptz not null default clock_timestamp(),
  by   text        not null
);
comment on table bellhop.manager_stop is 'Whose sensors rest; bellhop.manager changes it.';
