-- Works from: 0051
-- Locks: SHARE on bellhop.history, while the index is built: at most 32 days of a row per type and busy minute.
-- The history of one type, for its page: without this index a day of all types would be read for it.
create index history_of on bellhop.history (type, minute);
