-- The records of attempts, of items and of agents' output.

-- Attempts that are not in the job's row: those that failed, and every one after the first. bellhop.attempt shows all.
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
  reason     text,        -- the part of error that no agent wrote; NULL: all of it
  spawned_at timestamptz, -- launch of the child that the attempt had to wait for
  primary key (job, attempt, fence)
);

-- Runs that were lost with their host or instance and given back. They are not attempts.
create table bellhop.lost_run (
  job        bigint      not null,
  n          integer     not null, -- the number among the lost runs of the job; the newest 20 are kept
  attempt    integer     not null, -- the number that the attempt would have had
  fence      bigint      not null,
  host       text,
  child      text,
  instance   bigint,
  spawned_at timestamptz,
  started_at timestamptz,
  lost_at    timestamptz not null default clock_timestamp(),
  reason     text        not null, -- never an agent's words
  primary key (job, n)
);

-- Output of agents, by job.
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

-- Items of MSQ jobs that failed. The others are only counted, in the job's row.
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
