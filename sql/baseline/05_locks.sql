-- Locks: which jobs hold them, which wait, and for which jobs they are kept free. And filters of jobs.

-- A row is alive while its job runs under its fence, or (mode turn) while its job is the next to be looked at for that
-- lock, or (mode kept) while its job has a row in lock_reserved. Other rows hold nothing: the next pass hands the lock on.
-- So the end of a job writes nothing here, and a job that is changed or deleted by hand frees its locks.
create table bellhop.lock_grant (
  level    text        not null,
  name     text        not null,
  job      bigint      not null,
  fence    bigint      not null,
  mode     text        not null check (mode in ('exclusive', 'shared', 'slot', 'turn', 'kept')),
  instance bigint,
  since    timestamptz not null default clock_timestamp(),
  until    timestamptz, -- of a slot: the start counts until then, whatever becomes of the job
  primary key (level, name, job)
);
comment on table bellhop.lock_grant is 'What jobs hold; bellhop.lock shows those that do so now.';

-- Jobs that have waited so long that no younger job starts before them if it would be in their way.
create table bellhop.lock_reserved (
  job   bigint      primary key,
  since timestamptz not null default clock_timestamp()
);

-- Requests of running jobs: one row for each lock of a request that has to wait. A row is alive while its job runs under its fence.
create table bellhop.lock_wait (
  level    text        not null,
  name     text        not null,
  job      bigint      not null,
  fence    bigint      not null,
  mode     text        not null check (mode in ('exclusive', 'shared')),
  instance bigint      not null,
  since    timestamptz not null default clock_timestamp(),
  primary key (level, name, job)
);
comment on table bellhop.lock_wait is 'Locks that running jobs have asked for and wait for; bellhop.lock_waiting shows those that do so now.';

create view bellhop.lock_waiting as
  select w.level, w.name, w.mode, w.job, w.fence, w.instance, w.since
    from bellhop.lock_wait w
    join bellhop.jobqueue j on j.id = w.job and j.fence = w.fence and j.state in ('assigned', 'running');
comment on view bellhop.lock_waiting is 'Locks that running jobs wait for just now, one row each.';

-- How far the safety scan has got: it looks at some 1,000 of the locks that jobs wait for at once, and goes on behind them
-- the next time. A row of its own, written only if jobs wait for more locks than that.
create table bellhop.lock_scan (
  one    boolean primary key default true check (one),
  beyond text    not null default ''
);
insert into bellhop.lock_scan default values;

-- Rules by which jobs are refused, wait, or run only so many at once, asked in the order (priority, watermark, id).
-- docs/locks.md tells the whole.
create table bellhop.filter (
  id         text        primary key default gen_random_uuid()::text check (id ~ '^[A-Za-z0-9._-]{1,100}$'),
  priority   integer     not null default 0 check (priority >= 0),
  watermark  bigint      not null, -- the highest job when the rule was added or replaced
  -- All of these must hold: ["jobid", E], ["opcode", E], ["reason", E].
  predicates jsonb       not null default '[]' check (jsonb_typeof(predicates) = 'array'),
  action     text        not null,
  reason     text        not null default '',
  created_at timestamptz not null default clock_timestamp(),
  created_by text        not null
);
comment on table bellhop.filter is 'Job filters; bellhop.filter_add, filter_replace and filter_delete change them.';
