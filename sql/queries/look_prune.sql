-- Deletes some jobs that are over: $1 that ended at this time or later (NULL: whenever), $2 before this time (NULL: $3
-- ms ago), $4 states, $5 jobs past this id, $6 how many at most, $7 whether only RJM's. until is that time: the next
-- call takes it as $2, or jobs that grow old meanwhile would never come to an end. last is NULL at the end. Guard: they
-- are over, and no job needs them. Index: the primary key, all of it in the end.
with bound as materialized (
  select coalesce($2::timestamptz, clock_timestamp() - $3::bigint * interval '1 ms') as until
)
select count(p.job) as deleted, case when count(p.job) >= $6 then max(p.job) end as last, b.until
  from bound b left join lateral bellhop.prune_jobs($1, b.until, $4::text[], $5, $6, $7, false) p on true
 group by b.until
