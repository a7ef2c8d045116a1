-- kick: look again now. NOTIFY carries no authority: it starts, stops and
-- changes nothing by itself.
create or replace function bellhop.kick() returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select pg_notify('bellhop', '') $$;

revoke all on function bellhop.kick from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant execute on function bellhop.kick to bellhop_submitter, bellhop_scheduler;
  end if;
end
$$;
