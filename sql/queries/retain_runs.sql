-- Deletes runs that were over for $1 ms, with their jobs: $2 at the most; $3 the table that gets those first. Guard: they are over. Index: run_ended.
select bellhop.retain_runs($1 * interval '1 ms', $2, $3)
