-- A job that no instance starts: it measures the commit of one INSERT. $1 type. Guard: none; the type is the caller's
-- own.
insert into bellhop.jobqueue (type, args, held) values ($1, '-1', true)
