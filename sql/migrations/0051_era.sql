-- An era is a stretch of a server's life in which nothing that was committed is lost. Another one begins with each crash, each
-- promotion of a standby and each restore: then claims, which are committed asynchronously, may be gone, or the newest end of
-- everything. Ids come from sequences, so the same ids may be given again. No fence is: those of an era begin above its floor,
-- and so (job, fence) names one claim in all eras.

-- The era that is now. Unlogged, so that every crash, promotion and restore empties it: bellhop.era() then begins another.
create unlogged table bellhop.era_now (
  one      boolean primary key default true check (one),
  server   text,                                      -- NULL: no instance has looked yet
  floor    bigint      not null,                      -- claims of this era have no lower fence
  horizon  xid8        not null default pg_current_xact_id(), -- what later transactions brought, no earlier era has seen
  began_at timestamptz not null default clock_timestamp()
);
insert into bellhop.era_now (floor) values (0);

-- The servers and timelines that this database has been on. A new one may lack the end of what the one before it had committed.
create table bellhop.server_seen (
  server text primary key,
  floor  bigint      not null, -- of its first era: a lower fence is of another server's time
  since  timestamptz not null default clock_timestamp()
);
revoke all on bellhop.era_now, bellhop.server_seen from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.era_now, bellhop.server_seen to bellhop_scheduler, bellhop_operator;
  end if;
end
$$;
