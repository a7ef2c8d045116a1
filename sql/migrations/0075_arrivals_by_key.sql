-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.share_arrival and bellhop.share_clock, for a moment.
-- A claim reads the keys that have come, and not each of their rows: a key is in the line at once, however many rows of
-- others came before it (../functions/shares.sql).
create index share_arrival_key on bellhop.share_arrival (type, place, priority, share, id);
drop index bellhop.share_arrival_next;
-- The last of the keys that a claim has read, where there were more than it reads.
alter table bellhop.share_clock add column read_to text not null default '';
