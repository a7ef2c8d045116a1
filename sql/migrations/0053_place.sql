-- Works from: 0051
-- Where a sensor stands in a source whose numbers may begin again, and what is to be known of what it has passed over. It outlives the
-- sensor, which goes when its workflow is deactivated.
-- Locks: none on anything that is there.
create table bellhop.sensor_place (
  workflow    text        primary key,
  place       jsonb,
  remark      text,
  remarked_at timestamptz
);
comment on table bellhop.sensor_place is 'Where sensors stand in topics; the watches of instances write it.';

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.sensor_place to bellhop_scheduler;
    grant select on bellhop.sensor_place to bellhop_reader, bellhop_operator;
  end if;
end
$$;
