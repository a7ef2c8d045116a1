-- Who deletes what was over long ago, so that one instance at a time does. Locks: none on tables that are there.
create table bellhop.housekeeping (
  one      boolean     primary key default true check (one),
  instance bigint,      -- who is at it
  until    timestamptz, -- and by when it has said so again; later, another one takes over
  begun_at timestamptz,
  ended_at timestamptz,
  deleted  bigint      not null default 0 -- jobs and runs, in the last pass
);
comment on table bellhop.housekeeping is 'One row: when what was over long ago was last deleted, and by whom.';
insert into bellhop.housekeeping default values;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, update on bellhop.housekeeping to bellhop_scheduler;
    grant select on bellhop.housekeeping to bellhop_reader, bellhop_operator;
  end if;
end
$$;
