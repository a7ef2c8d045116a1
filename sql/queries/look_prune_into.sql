-- Deletes some jobs that are over, once they are written to the table $7: $1 that ended at this time or later (NULL:
-- whenever), $2 before this time (NULL: $3 ms ago), $4 states, $5 jobs past this id, $6 how many at most. until and last
-- are as in look_prune.sql. Guard: they are over, and no job needs them. Index: the primary key, all of it in the end.
with bound as materialized (
  select coalesce($2::timestamptz, clock_timestamp() - $3::bigint * interval '1 ms') as until
)
select p.deleted::bigint as deleted, p.last, b.until
  from bound b cross join lateral bellhop.prune_into($7, $1, b.until, $4::text[], $5, $6) p
