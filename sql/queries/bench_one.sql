-- A job with a measurement's number as its argument; returns its id. $1 type, $2 argument. Guard: none; the type is the
-- caller's own.
insert into bellhop.jobqueue (type, args) values ($1, $2) returning id
