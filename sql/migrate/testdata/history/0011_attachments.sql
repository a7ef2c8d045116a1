-- Any table as a queue: whose rows with a NULL dispatch column are run.

-- One row is one table that was attached. rel is an oid, and the columns are numbers: names may change.
create table bellhop.attachment (
  id              bigint      generated always as identity primary key,
  name            text        not null unique,
  rel             regclass    not null,
  type            text,
  cmd             text[],
  pool            integer     not null, -- how many run at once, over all instances; 0: none, it is paused
  workdir         text,
  log_dir         text,
  key_columns     smallint[]  not null,
  dispatch_column smallint    not null,
  status_column   smallint,
  exit_column     smallint,
  attached_by     name        not null default current_user, -- with whose rights its rows are read and marked
  attached_at     timestamptz not null default clock_timestamp(),
  state           text        not null default 'ok',
  trouble         text,       -- why it is broken
  state_since     timestamptz not null default clock_timestamp(),
  unique (rel, dispatch_column),
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

-- Which job is which row's. A key has one job for good: each run of the row is an attempt of that. live: its run is
-- not over, or what became of it is not written into the user's table yet.
create table bellhop.attached (
  attachment bigint  not null references bellhop.attachment on delete cascade,
  digest     bytea   not null, -- SHA-256 of the key, which may be of any length
  key        text    not null, -- the text form of the key; of several columns, as a JSON array
  job        bigint  not null,
  live       boolean not null,
  row_text   text,             -- the row as JSON, as it was taken
  primary key (attachment, digest)
);
-- What runs now: at most `pool` for each attachment.
create index attached_live on bellhop.attached (attachment) where live;
create index attached_job on bellhop.attached (job);

-- The functions that touch users' tables are made by whoever attaches, belong to him, and so can do no more than he
-- can. In bellhop's own schema nobody else may make functions: what runs with the rights of its owner looks there.
drop schema if exists bellhop_attached cascade; -- left by a bellhop whose own schema was dropped: its functions lead nowhere
create schema bellhop_attached;
revoke all on schema bellhop_attached from public;
comment on schema bellhop_attached is 'One function for each attached table, which has the rights of whoever attached it.';

-- retry_attached: a retry of a row's job takes one of the places of its attachment.
create function bellhop.retry_attached(job bigint) returns void
language plpgsql volatile
set search_path = pg_catalog
as $$
declare
  a bellhop.attachment;
begin
  select b.* into a from bellhop.attached x join bellhop.attachment b on b.id = x.attachment where x.job = retry_attached.job;
  if not found then
    return;
  end if;
  perform from bellhop.attachment b where b.id = a.id for update; -- nobody takes rows of it meanwhile
  if (select count(*) from bellhop.attached x where x.attachment = a.id and x.live and x.job <> retry_attached.job) >= a.pool then
    raise object_not_in_prerequisite_state using
      message = format('job %s is a row of %s, and all %s places of that are taken', retry_attached.job, a.name, a.pool),
      hint = 'Set its dispatch column to NULL: then it runs as soon as there is room.';
  end if;
  update bellhop.attached x set live = true where x.job = retry_attached.job;
end
$$;

-- retry and prune as before, and they see to rows' jobs.
create or replace function bellhop.retry(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  was    bellhop.jobqueue;
  now_is text;
begin
  perform bellhop.retry_attached(retry.id)
    from bellhop.jobqueue j where j.id = retry.id and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into was from bellhop.jobqueue j where j.id = retry.id for update;
  if was.state is null or was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return was.state;
  end if;
  if was.attempt > 0 and was.started_at is not null then
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes)
    select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
           was.exit_code, was.error, was.successes
    where not exists (select 1 from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
  end if;
  update bellhop.jobqueue j
     set state = 'ready', held = false, run_at = null, max_attempts = greatest(j.max_attempts, j.attempt + 1),
         ended_at = null, exit_code = null, error = null, waiting_for = null, successes = null, instance = null,
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null,
         items_total = null, items_done = null, items_failed = null
   where j.id = retry.id;
  if exists (select from bellhop.dependency d where d.job = retry.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.weigh(array[retry.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = retry.id;
  perform bellhop.kick();
  return now_is;
end
$$;

revoke all on bellhop.attachment, bellhop.attached from public;
revoke all on function bellhop.retry_attached from public;
do $$
begin
  if not exists (select from pg_roles where rolname = 'bellhop_operator') then
    return;
  end if;
  grant usage on schema bellhop_attached to bellhop_operator, bellhop_scheduler;
  grant create on schema bellhop_attached to bellhop_operator;
  grant select on bellhop.attachment, bellhop.attached to bellhop_operator;
  -- Not rel, nor the columns, of one that is there: its function has the rights of somebody else.
  grant insert (name, rel, type, cmd, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column), update (pool), delete
    on bellhop.attachment to bellhop_operator;
  -- No commands: they may hold what is nobody's business.
  grant select (id, name, rel, type, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column, attached_by, attached_at,
                state, trouble, state_since) on bellhop.attachment to bellhop_reader;
  grant select (attachment, digest, key, job, live) on bellhop.attached to bellhop_reader;
  grant select, insert, update, delete on bellhop.attachment, bellhop.attached to bellhop_scheduler;
  grant usage on all sequences in schema bellhop to bellhop_scheduler;
  grant execute on function bellhop.retry_attached to bellhop_scheduler;
end
$$;
