-- Deletes runs that were over for long enough, with their jobs: $1 how they ended, $2 for how many ms they are kept then (NULL: for ever), $3 jobs at the most;
-- $4 the table that gets those first. Guard: they are over. Index: run_ended_as.
select bellhop.retain_runs($1::text[], $2::bigint[], $3, $4)
