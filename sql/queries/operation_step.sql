-- The next batch of operation $1, of $2 jobs. Guard: operators only; a lock on its row. Index: operation_part's primary key, from where it was, and jobqueue's.
select bellhop.operation_step($1::bigint, $2::integer)
