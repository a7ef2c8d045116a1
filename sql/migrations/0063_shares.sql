-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.jobqueue, while the indexes of ready jobs are made anew.
-- Fair shares: among jobs of one type and priority, keys take turns by weight (../functions/shares.sql).
alter table bellhop.jobqueue add column share text;
comment on column bellhop.jobqueue.share is 'The key, such as a customer, among which the starts of one type and priority are shared; NULL: none.';

-- Jobs with a share leave the indexes that claims walk in the order of ids, as jobs with locks do.
drop index bellhop.jobqueue_ready, bellhop.jobqueue_pinned;
create index jobqueue_ready on bellhop.jobqueue (type, priority, id)
  where state = 'ready' and not held and run_on is null and locks is null and share is null;
create index jobqueue_pinned on bellhop.jobqueue (type, run_on, priority, id)
  where state = 'ready' and not held and run_on is not null and locks is null and share is null;
-- Of each key its jobs in their order, for each place ('': anywhere).
create index jobqueue_shared on bellhop.jobqueue (type, coalesce(run_on, ''), priority, share, id)
  where share is not null and state = 'ready' and not held and locks is null;

create or replace view bellhop.startable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null and j.share is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     -- Asked once a statement, of an index that is normally empty: jobs without dependencies pay nothing.
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.startable is 'Jobs without locks and share that may start now, as far as they themselves can tell.';

-- The same of jobs with a share.
create view bellhop.shareable as
  select j.id, j.type, coalesce(j.run_on, '') as place, j.priority, j.share, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.share is not null and j.state = 'ready' and not j.held and j.unmet is null and j.locks is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.shareable is 'Jobs with a share that may start when it is their turn.';

-- How much of a type's starts a key gets beside the others that have work. Operators write it.
create table bellhop.share (
  type   text not null,
  name   text not null,
  weight real not null default 1,
  primary key (type, name),
  constraint share_weight_bounds check (weight between 0.001 and 1000),
  constraint share_name_bounds check (length(name) between 1 and 200)
);
comment on table bellhop.share is 'The weights of keys (jobqueue.share) of a type; a key without a row has weight 1.';

-- That jobs of a key have come, or are ready again. An INSERT only appends: it waits for nothing and locks nothing. A
-- claim moves the key into the line, and deletes the row.
create table bellhop.share_arrival (
  id       bigint   generated always as identity,
  type     text     not null,
  place    text     not null, -- the job's run_on; '': anywhere
  priority smallint not null,
  share    text     not null
);
create index share_arrival_next on bellhop.share_arrival (type, place, priority, id);

-- The keys that have ready jobs, in the order of their next starts. '' stands for the jobs without a share. Only the
-- owner of the clock's lock writes.
create table bellhop.share_line (
  type     text     not null,
  place    text     not null,
  priority smallint not null,
  share    text     not null,
  tag      float8   not null, -- the virtual time of the key's next start
  turn     smallint not null, -- 0: it has not started since it came; at the same tag these go first
  came     bigint   not null, -- its arrival: the order among equals
  idle     boolean  not null, -- no job is ready; it stays in the table until the clock has reached its tag
  started  bigint   not null, -- how many jobs have started since it came into the table
  primary key (type, place, priority, share)
) with (fillfactor = 70);
create index share_line_next on bellhop.share_line (type, place, priority, tag, turn, came) where not idle;
create index share_line_idle on bellhop.share_line (type, place, priority, tag) where idle;

-- Virtual time: the tag of the last start. A claim locks the row.
create table bellhop.share_clock (
  type     text     not null,
  place    text     not null,
  priority smallint not null,
  now      float8   not null default 0,
  looked   text     not null default '', -- where the slow look at all keys goes on
  primary key (type, place, priority)
) with (fillfactor = 70);

revoke all on bellhop.share, bellhop.share_arrival, bellhop.share_line, bellhop.share_clock, bellhop.shareable from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_submitter') then
    grant insert (share) on bellhop.jobqueue to bellhop_submitter;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select on bellhop.share to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select, insert, update, delete on bellhop.share to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.share, bellhop.share_arrival, bellhop.share_line, bellhop.share_clock to bellhop_scheduler;
    grant select, update on bellhop.shareable to bellhop_scheduler; -- UPDATE is what FOR UPDATE asks for
    grant usage on sequence bellhop.share_arrival_id_seq to bellhop_scheduler;
  end if;
end
$$;

-- They return, or take, the share now.
drop function if exists bellhop.take(text[], integer, interval), bellhop.claim_for_worker(text[], integer, interval),
  bellhop.submit(text, text, text, text, text, text, integer, text, timestamptz, boolean, jsonb, text[], text[], integer, interval, text, text,
                 bigint[], text[], text[], text, interval, boolean, timestamptz, bigint),
  bellhop.submit_replace(bellhop.jobqueue, text, text, text, text, jsonb, smallint, text, timestamptz, integer, interval);
