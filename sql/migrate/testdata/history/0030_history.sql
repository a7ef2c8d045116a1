-- history: what an instance did of a type within a minute, so that charts of a day, and percentiles of wait and run, are not read
-- from the queue. Nothing that stands here decides anything. It outlives its instance, and keeps itself short: 32 days.
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
  wait         integer[]   not null, -- of attempts, from when it could begin until it did: a bucket, its count, the next bucket …;
  run          integer[]   not null, -- and from then to its end. Buckets: 16 to an octave of microseconds (scheduler/sketch)
  primary key (minute, type, instance)
);

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.history to bellhop_scheduler;
    grant select on bellhop.history to bellhop_reader;
  end if;
end
$$;
