-- Deletes some jobs that are over: $1 that ended at this time or later (NULL: whenever), $2 before this time (NULL: $3
-- ms ago), $4 states, $5 jobs past this id, $6 how many at most, $7 whether only RJM's. Guard: they are over, and no
-- job needs them. Index: the primary key, all of it in the end.
select count(*) as deleted, max(p.job) as last
  from bellhop.prune_jobs($1, coalesce($2::timestamptz, clock_timestamp() - $3::bigint * interval '1 ms'), $4::text[], $5, $6, $7, false) p
