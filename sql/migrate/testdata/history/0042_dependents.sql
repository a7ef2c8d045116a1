-- What else an operation touches: how many jobs need those that it is for, by what becomes of them.
-- Locks: ACCESS EXCLUSIVE on bellhop.operation, for a moment.
alter table bellhop.operation add column dependents jsonb not null default '{}';
