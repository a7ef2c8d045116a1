-- Nothing is reserved any more for the jobs $1: no lock keeps them waiting, but a filter or a limit. What was kept for them is handed on by
-- the next pass. Guard: the advisory lock of passes. Index: the primary key.
delete from bellhop.lock_reserved r where r.job = any ($1::bigint[])
