-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.instance, for a moment.
-- Which keys for sealed jobs an instance has (../functions/sealed.sql): their ids, no secrets.
alter table bellhop.instance add column keys text[] not null default '{}';
