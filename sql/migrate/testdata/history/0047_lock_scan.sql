-- How far the safety scan has got among the locks that are waited for: it looks at some 1,000 at once, and goes on behind them with
-- the next. A row of its own, written only where more locks than that are waited for. Locks: none.
create table bellhop.lock_scan (
  one    boolean primary key default true check (one),
  beyond text    not null default ''
);
insert into bellhop.lock_scan default values;

revoke all on bellhop.lock_scan from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, update on bellhop.lock_scan to bellhop_scheduler;
  end if;
end
$$;
