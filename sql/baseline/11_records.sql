-- Counts for charts and forecasts, the sessions of the pages, and the deletion of old jobs and runs.

-- The work of an instance by type and minute, so that charts of a day, and percentiles of wait and run, are not read from the
-- queue. No decision depends on it. It outlives its instance, and keeps itself short: 32 days.
create table bellhop.history (
  minute       timestamptz not null, -- its begin, on the clock of the instance's machine
  type         text        not null,
  instance     bigint      not null,
  taken        integer     not null, -- jobs claimed; one that is given back is taken once more
  succeeded    integer     not null,
  failed       integer     not null, -- quarantined ones too
  cancelled    integer     not null, -- while they ran
  retried      integer     not null, -- attempts that another follows
  items_done   bigint      not null,
  items_failed bigint      not null, -- tries at items
  wait         integer[]   not null, -- of attempts, from the earliest possible start to the start: a bucket, its count, the next bucket …;
  run          integer[]   not null, -- and from there to the end. Buckets: 16 to an octave of microseconds (scheduler/sketch)
  primary key (minute, type, instance)
);

-- How long jobs took, by type, and by how much forecasts of their start were off: counts of buckets (scheduler/sketch,
-- ../functions/sketch.sql). Instances add some seconds' worth at once. Readers need one row for each type.
create table bellhop.sketch (
  what  text        not null check (what in ('took', 'off')),
  name  text        not null, -- of 'took': a type; of 'off': how far ahead the start was
  pairs integer[]   not null default '{}', -- a bucket, its count, the next bucket …, in order
  at    timestamptz not null default clock_timestamp(), -- of the last addition
  primary key (what, name)
);

-- Links and sessions of the pages (../functions/sign_in.sql).
create table bellhop.sign_in (
  digest  bytea       primary key, -- of the link's secret, or the cookie's: a reader of the table cannot use it
  link    boolean     not null,    -- a link, for one use; else the session that was made of one
  login   text        not null,    -- the caller has the rights of this role
  made_at timestamptz not null default clock_timestamp(),
  until   timestamptz not null
);
create index sign_in_login on bellhop.sign_in (login, link, until);

-- The instance that deletes old jobs and runs: one at a time does.
create table bellhop.housekeeping (
  one      boolean     primary key default true check (one),
  instance bigint,
  until    timestamptz, -- it says again that it is at work by then; later, another instance takes over
  begun_at timestamptz,
  ended_at timestamptz,
  deleted  bigint      not null default 0 -- jobs and runs, in the last pass
);
comment on table bellhop.housekeeping is 'One row: when what was over long ago was last deleted, and by whom.';
insert into bellhop.housekeeping default values;
