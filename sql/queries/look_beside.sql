-- Jobs without locks, as far as a forecast considers them: the running ones, and the first $1 that wait. Guard: none,
-- it only reads; readers only. Indexes: those of bellhop.lock_beside.
select * from bellhop.lock_beside($1)
