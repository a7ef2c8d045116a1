-- The jobs of an operation, as its plan has counted them: a filter may let through others when it is carried out.
-- And who ordered it: of planned_by, a role, there may be several. Locks: none on a table of jobs; ACCESS EXCLUSIVE on
-- bellhop.operation, for a moment.
alter table bellhop.operation add column actor text; -- the name of a token, or a login; NULL: it is from before this was kept

create table bellhop.operation_part (
  operation bigint not null references bellhop.operation on delete cascade,
  last      bigint not null,   -- the largest of ids
  ids       bigint[] not null, -- up to a thousand, ascending
  primary key (operation, last)
);

revoke all on bellhop.operation_part from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.operation_part to bellhop_scheduler;
  end if;
end
$$;

-- Which jobs a plan from before has counted, nobody knows.
update bellhop.operation
   set state = 'done', ended_at = clock_timestamp(), error = 'it was planned before an upgrade, which has ended it: plan it again'
 where state in ('planned', 'running', 'stopping', 'stopped');
