-- Undoes operation $1, as far as nobody has changed its jobs since. Guard: operators only, its state, and that of each job. Index: operation_job's
-- primary key, jobqueue's.
select bellhop.operation_undo($1::bigint)
