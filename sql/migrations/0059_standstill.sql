-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.instance, for a moment.
-- Why an instance that lives claims nothing just now, and since when, as it tells with a look at the queue. NULL: it claims.
alter table bellhop.instance add column standstill text, add column standstill_since timestamptz;
