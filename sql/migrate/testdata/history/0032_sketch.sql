-- How long jobs took, by type, and by how much forecasts of their start were off: counts of buckets, and not the jobs themselves
-- (scheduler/sketch, sql/functions/sketch.sql). Instances
-- add what they have counted, some seconds' worth at once. bellhop.history has as much of each minute; of this a row is read for each type.
create table bellhop.sketch (
  what    text        not null check (what in ('took', 'off')),
  name    text        not null, -- of 'took': a type; of 'off': how far ahead the start was
  pairs   integer[]   not null default '{}', -- a bucket, its count, the next bucket …, in order
  at      timestamptz not null default clock_timestamp(), -- when something was added
  primary key (what, name)
);
revoke all on bellhop.sketch from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.sketch to bellhop_reader;
    grant select, insert, update, delete on bellhop.sketch to bellhop_scheduler;
  end if;
end
$$;
