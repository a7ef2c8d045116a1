-- Inserts jobs of a type that do nothing. $1 type, $2 how many. Guard: none; the type is the caller's own.
insert into bellhop.jobqueue (type, args) select $1, '-1' from generate_series(1, $2)
