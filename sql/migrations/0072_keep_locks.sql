-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.lock_grant, for a moment.
-- A job that sleeps, or awaits an event, may keep its locks: rests marks those.
alter table bellhop.lock_grant add column rests boolean not null default false;
create index lock_grant_rests on bellhop.lock_grant (job) where rests;
