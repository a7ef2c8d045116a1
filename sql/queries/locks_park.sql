-- The jobs $1 are not reserved any more: no lock keeps them waiting, but a filter or a limit. The next pass hands on
-- the locks that were kept for them. Guard: the advisory lock of passes. Index: the primary key.
delete from bellhop.lock_reserved r where r.job = any ($1::bigint[])
