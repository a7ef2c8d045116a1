-- Deletes some of what is over. $1 for how long, in ms, $2 states, $3 jobs past this id, $4 how many at the most, $5 whether RJM's only.
-- Index: the primary key, all of it in the end.
select p.deleted, p.last from bellhop.prune($1::bigint * interval '1 ms', $2::text[], $3, $4, $5) p
