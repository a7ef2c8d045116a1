-- Jobs without locks, as far as a forecast heeds them: those that run, and the first $1 that wait. Guard: none, it only reads; readers
-- only. Indexes: those of bellhop.lock_beside.
select * from bellhop.lock_beside($1)
