-- Undoes operation $1, except for jobs that have changed since. Guard: operators only, its state, and that of each job.
-- Index: operation_job's primary key, jobqueue's.
select bellhop.operation_undo($1::bigint)
