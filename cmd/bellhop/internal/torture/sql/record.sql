-- Keeps each claim, release and end of a job, in the transaction that makes it. Guard: none; the database is the torture's own. Index: none; it is read once.
create table public.torture_seen (n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
                                  job bigint, state text, fence bigint, instance bigint);
create function public.torture_see() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.torture_seen (job, state, fence, instance) values (new.id, new.state, new.fence, new.instance);
  return null;
end
$$;
create trigger torture_see after update on bellhop.jobqueue for each row
  when (old.fence <> new.fence or old.instance is distinct from new.instance or old.state <> new.state)
  execute function public.torture_see();
