-- The next batch of operation $1, of $2 jobs. Guard: operators only; a lock on its row. Index: jobqueue's primary key, from where it was.
select bellhop.operation_step($1::bigint, $2::integer)
