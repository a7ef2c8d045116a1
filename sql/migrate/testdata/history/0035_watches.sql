-- What sensors watch outside of the queue: which instances see what, and how often a sensor has started its workflow of late.
-- Locks: none on the queue; ACCESS EXCLUSIVE on sensors and instances, small tables, for a moment.
alter table bellhop.sensor add column recent timestamptz[] not null default '{}'; -- starts, the latest first, as many as at_most says
create index sensor_watched on bellhop.sensor (workflow) where kind in ('notify', 'file', 'kafka');

-- What an instance can watch: {"notify": true, "files": ["/srv/in"], "kafka": ["main"]}. NULL: one of the version before: nothing.
alter table bellhop.instance add column watches jsonb;

-- The names of events that bring none of their own.
create sequence bellhop.event_number as bigint;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant usage on sequence bellhop.event_number to bellhop_scheduler;
  end if;
end
$$;
