-- Locks: what a job holds while it runs, behind which lock a waiting one stands, and for whom locks are kept free.
-- Locks here: ACCESS EXCLUSIVE on the queue from the first statement on, while three indexes are built: a second for a million
-- rows that wait.

-- behind: of a ready job with locks: NULL or '' while the next pass is to look at it; else the lock behind which it waits, as
-- 'level:name'. A pass looks at it again when that lock has become free, and not before.
alter table bellhop.jobqueue add column behind text;
comment on column bellhop.jobqueue.behind is 'The lock behind which a ready job waits; NULL or empty: the next pass looks at it.';

-- One index serves passes: the jobs that they have to look at (behind = ''), and those behind each lock, in order.
-- The rarest condition comes first: it is looked at for every row that is written.
create index jobqueue_locked on bellhop.jobqueue (coalesce(behind, ''), type, priority, id)
  where locks is not null and state = 'ready' and not held;

-- The hot claims do not walk past jobs that wait for locks, of which there may be very many.
-- Locks: SHARE while the two are built: who inserts, claims or records waits, who reads does not.
create index jobqueue_ready_unlocked on bellhop.jobqueue (type, priority, id) where state = 'ready' and not held and run_on is null and locks is null;
create index jobqueue_pinned_unlocked on bellhop.jobqueue (type, run_on, priority, id)
  where state = 'ready' and not held and run_on is not null and locks is null;
drop index bellhop.jobqueue_ready, bellhop.jobqueue_pinned;
alter index bellhop.jobqueue_ready_unlocked rename to jobqueue_ready;
alter index bellhop.jobqueue_pinned_unlocked rename to jobqueue_pinned;

-- lock_grant: a row is alive while its job runs under its fence, or (mode turn) while its job is the next one to be looked at
-- for that lock. A row that is not alive holds nothing: the next pass hands the lock to whoever waits behind it. So nothing has
-- to be written when a job ends, and a job that is changed or deleted by hand frees what it held.
create table bellhop.lock_grant (
  level    text        not null,
  name     text        not null,
  job      bigint      not null,
  fence    bigint      not null,
  mode     text        not null check (mode in ('exclusive', 'shared', 'slot', 'turn')),
  instance bigint,
  since    timestamptz not null default clock_timestamp(),
  until    timestamptz, -- of a slot: a start that counts until then, whatever has become of the job
  primary key (level, name, job)
);
comment on table bellhop.lock_grant is 'What jobs hold; bellhop.lock shows those that do so now.';

-- lock_reserved: jobs that have waited so long that nothing younger, which would be in their way, starts before them.
create table bellhop.lock_reserved (
  job   bigint      primary key,
  since timestamptz not null default clock_timestamp()
);

-- Jobs with locks are none of the hot claims'.
create or replace view bellhop.startable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     -- Asked once a statement, of an index that is normally empty: jobs without dependencies pay nothing.
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));

-- The same of jobs with locks, which start when the locks are free too.
create view bellhop.lockable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq, j.created_at, j.locks, j.reasons, coalesce(j.behind, '') as behind,
         j.args, j.key, j.vars
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.lockable is 'Jobs with locks that may start as soon as these are free.';

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.lock_grant, bellhop.lock_reserved to bellhop_scheduler;
    grant select, update on bellhop.lockable to bellhop_scheduler;
  end if;
end
$$;
