-- One job by a plain INSERT. $1 type, $2 arguments, $3 locks, $4 attempts, $5 in how many milliseconds it may start. Guard: none.
insert into bellhop.jobqueue (type, args, locks, max_attempts, run_at)
values ($1, $2, $3, $4, case when $5::int > 0 then clock_timestamp() + $5::int * interval '1 ms' end)
