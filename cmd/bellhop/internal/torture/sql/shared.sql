-- One job with a share. $1 type, $2 arguments, $3 share, $4 attempts. Guard: none.
insert into bellhop.jobqueue (type, args, share, max_attempts) values ($1, $2, $3, $4)
