-- Instances whose workflows have been stopped; and runs that are over, by when.
-- Locks: none on the queue; SHARE on runs while their index is built.

-- manager_stop: sensors do not start workflows on the instances of this name; '': on none.
create table bellhop.manager_stop (
  name text        primary key,
  at   timestamptz not null default clock_timestamp(),
  by   text        not null
);
comment on table bellhop.manager_stop is 'Whose sensors rest; bellhop.manager changes it.';

create index run_ended on bellhop.run (ended_at) where ended_at is not null;
create index workflow_instance on bellhop.workflow (instance) where active;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.manager_stop to bellhop_reader, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
