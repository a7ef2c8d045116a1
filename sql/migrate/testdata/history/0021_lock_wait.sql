-- Locks that jobs ask for while they run: what they wait for. Locks here: none that anybody waits for.

-- lock_wait: one row for each lock of a request that has to wait. A row is alive while its job runs under its fence, as one of
-- lock_grant is: nothing has to be written when a job ends.
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

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.lock_wait to bellhop_scheduler;
    grant select on bellhop.lock_waiting to bellhop_reader, bellhop_scheduler;
  end if;
end
$$;
