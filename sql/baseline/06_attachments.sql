-- Any table as a queue: its rows with a NULL dispatch column are run.

-- The functions that touch users' tables. Each is made by the role that attaches, and belongs to it, so it can do no more
-- than that role. Other roles may not make functions in bellhop's own schema: functions with its owner's rights look there.
drop schema if exists bellhop_attached cascade; -- left by a bellhop whose own schema was dropped: its functions lead nowhere
create schema bellhop_attached;
comment on schema bellhop_attached is 'One function for each attached table, which has the rights of whoever attached it.';

-- One row is one table that was attached. rel is an oid, and the columns are numbers: names may change.
create table bellhop.attachment (
  id              bigint      generated always as identity primary key,
  name            text        not null,
  rel             regclass    not null,
  type            text,
  cmd             text[],
  pool            integer     not null, -- rows that run at once, over all instances; 0: it is paused
  workdir         text,
  log_dir         text,
  key_columns     smallint[]  not null,
  dispatch_column smallint    not null,
  status_column   smallint,
  exit_column     smallint,
  attached_by     name        not null default current_user, -- its rows are read and marked with the rights of this role
  attached_at     timestamptz not null default clock_timestamp(),
  state           text        not null default 'ok',
  trouble         text,                 -- why it is broken
  state_since     timestamptz not null default clock_timestamp(),
  turn            text        not null default 'turn_' || replace(gen_random_uuid()::text, '-', ''), -- its function in bellhop_attached
  detached_at     timestamptz,          -- it takes no more rows, and stays until its running rows have ended
  constraint attachment_name_not_empty check (name <> ''),
  constraint attachment_type_or_cmd    check ((type is null) <> (cmd is null)),
  constraint attachment_type           check (type not in ('', 'command', 'attachment')),
  constraint attachment_cmd            check (cmd[1] <> '' and array_position(cmd, null) is null),
  constraint attachment_pool_range     check (pool between 0 and 10000),
  constraint attachment_workdir        check (workdir like '/%'),
  constraint attachment_log_dir        check (log_dir is null or log_dir like '/%' and cmd is not null),
  constraint attachment_has_key        check (cardinality(key_columns) > 0),
  constraint attachment_state_known    check (state in ('ok', 'broken'))
);
-- A table that was detached may be attached again while its running rows go on.
create unique index attachment_name on bellhop.attachment (name) where detached_at is null;
create unique index attachment_table on bellhop.attachment (rel, dispatch_column) where detached_at is null;

-- The job of each row. A key has one job for good: each run of the row is an attempt of that.
create table bellhop.attached (
  attachment bigint  not null references bellhop.attachment on delete cascade,
  digest     bytea   not null, -- SHA-256 of the key, which may be of any length
  key        text    not null, -- the text form of the key; of several columns, as a JSON array
  job        bigint  not null,
  live       boolean not null, -- its run is not over, or the outcome is not written into the user's table yet
  row_text   text,             -- the row as JSON, as it was taken
  primary key (attachment, digest)
);
-- The rows that run now: at most `pool` for each attachment.
create index attached_live on bellhop.attached (attachment) where live;
create index attached_job on bellhop.attached (job);

-- Rows that could not be marked as taken, or whose outcome could not be written: the triggers of their table refused it.
create table bellhop.set_aside (
  attachment bigint      not null references bellhop.attachment on delete cascade,
  digest     bytea       not null, -- as in attached
  key        text        not null,
  reason     text        not null,
  outcome    boolean     not null, -- it ran, and its outcome could not be written; else it could not be taken
  times      integer     not null default 1,
  since      timestamptz not null default clock_timestamp(),
  again_at   timestamptz not null, -- the next try
  primary key (attachment, digest)
);
