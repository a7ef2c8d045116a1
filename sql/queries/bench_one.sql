-- A job whose argument says which of a measurement's it is, and its id. $1 type, $2 argument. Guard: none; the type is the caller's own.
insert into bellhop.jobqueue (type, args) values ($1, $2) returning id
