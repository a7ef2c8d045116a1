-- One job by bellhop.submit, with a key and the jobs that it needs; returns its id. $1 type, $2 arguments, $3 key, $4 ids that it
-- needs, $5 attempts. Guard: the key.
select bellhop.submit($1, $2, key => $3, after => $4, max_attempts => $5)
