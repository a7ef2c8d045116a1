-- Who asks over HTTP. The scheduler's login answers under the roles of those who ask, so it is a member of them: what may
-- change every row of the queue may be an operator. And who is signed in to the pages: functions/sign_in.sql.
-- Locks here: none on a table that is used.
create table bellhop.sign_in (
  digest  bytea primary key, -- of the link's secret, or the cookie's: nobody is anybody by reading it
  link    boolean not null,  -- the link, for once; else the session that was made of one
  login   text not null,     -- whose rights it has
  made_at timestamptz not null default clock_timestamp(),
  until   timestamptz not null
);
create index sign_in_login on bellhop.sign_in (login, link, until);

revoke all on bellhop.sign_in from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.sign_in to bellhop_scheduler;
    begin
      grant bellhop_operator to bellhop_scheduler;
    exception when insufficient_privilege then
      raise notice 'bellhop: % may not grant bellhop_operator to bellhop_scheduler; bellhop install roles does', current_user;
      when unique_violation then null; -- roles are the server's: another database is migrated at the same time
    end;
  end if;
end
$$;
