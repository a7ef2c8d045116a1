-- server_now: identifies this server, the database on it, and the timeline. A promotion and a restore begin another
-- timeline. If the server does not tell a part (managed ones may not), that part is a question mark.
-- Grant: none
create or replace function bellhop.server_now() returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  system   text := '?';
  timeline text := '?';
begin
  begin
    select c.system_identifier::text into system from pg_control_system() c;
  exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state then
    system := '?';
  end;
  begin
    timeline := ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0');
  exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state then
    timeline := '?';
  end;
  return format('%s.%s timeline %s', system, (select d.oid from pg_database d where d.datname = current_database()), timeline);
end
$$;

-- era: the present era. The first caller after a crash, a promotion or a restore begins it. Its floor is the time in
-- ms: no job is claimed so often that its fences overtake the clock. On a server that was not seen before, numbers that
-- the previous server gave out may be missing. So all sequences skip ahead: what others remember by such a number (an
-- instance, a job, a notice) is hardly ever taken for another thing. By how much is luck: the server before may have
-- skipped from the same number, and that may be missing too. Only the first era of a schema has floor 0. In any other,
-- the rows of all earlier servers may be missing.
-- Grant: scheduler
create or replace function bellhop.era(out floor bigint, out server text, out server_floor bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  sequence regclass;
begin
  server := bellhop.server_now();
  select e.floor, s.floor into floor, server_floor
    from bellhop.era_now e join bellhop.server_seen s on s.server = e.server where e.server = era.server;
  if found then
    return;
  end if;
  insert into bellhop.era_now as e (server, floor) values (era.server, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (one) do update
     set server = excluded.server, floor = case when e.server is null then e.floor else greatest(e.floor + 1, excluded.floor) end,
         horizon = excluded.horizon, began_at = excluded.began_at
   where e.server is distinct from excluded.server;
  select e.floor into floor from bellhop.era_now e;
  insert into bellhop.server_seen (server, floor) values (era.server, era.floor) on conflict do nothing;
  if found and era.floor > 0 then
    for sequence in select c.oid from pg_class c where c.relkind = 'S' and c.relnamespace = 'bellhop'::regnamespace order by c.oid loop
      perform setval(sequence, nextval(sequence) + 100000 + (random() * 900000)::bigint);
    end loop;
  end if;
  select s.floor into server_floor from bellhop.server_seen s where s.server = era.server;
end
$$;
