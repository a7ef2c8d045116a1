-- Which instances have said what they run since the database last crashed. A
-- crash can undo claims, which are committed asynchronously, and empties every
-- unlogged table: so whoever has no row here may still run jobs whose rows say
-- that they are ready, and nobody claims until it has taken them again.
create unlogged table bellhop.asserted (
  instance bigint primary key
);
do $$
begin
  if exists (select 1 from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.asserted to bellhop_scheduler;
  end if;
end
$$;
