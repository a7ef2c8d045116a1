-- A job that nobody starts: what committing one INSERT takes. $1 type. Guard: none; the type is the caller's own.
insert into bellhop.jobqueue (type, args, held) values ($1, '-1', true)
