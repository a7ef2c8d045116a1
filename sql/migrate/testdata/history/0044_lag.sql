-- How far the sensors of topics are behind.
-- Locks: ACCESS EXCLUSIVE on bellhop.sensor, a small table, for a moment.
alter table bellhop.sensor add column lag bigint; -- messages that are there and not read yet; NULL: nobody knows, or it has none
