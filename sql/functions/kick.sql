-- kick: look again now. NOTIFY carries no authority: it starts, stops and
-- changes nothing by itself.
-- Grant: submitter scheduler
create or replace function bellhop.kick() returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select pg_notify('bellhop', ''), pg_notify('bellhop_work', '') $$;
