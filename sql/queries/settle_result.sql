-- First attempts that succeeded with a result, or said how they ended: settle_succeeded.sql, with $7 the results, JSON
-- each; $8 ended_as, $9 exit codes.
-- Guard: the row is still ours under this fence and runs. Index: the primary key; `|| ''` prevents use of
-- jobqueue_taken, which still has all rows that ran since the last VACUUM.
-- The same statement releases jobs that waited for them; a row 0: some are ready now. Index: dependency_open.
with settled as (
update bellhop.jobqueue j
   set state = 'succeeded', started_at = coalesce(j.started_at, now() - o.ago * interval '1 ms'), ended_at = greatest(coalesce(j.attempt_at, j.started_at), clock_timestamp() - o.ago * interval '1 ms'), exit_code = o.exit_code, child = o.child,
       successes = nullif(o.successes, 0), waiting_for = null, error = null, result = o.result::jsonb, ended_as = o.ended_as
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::int[], $7::text[], $8::text[], $9::int[])
    as o (id, fence, child, successes, ago, result, ended_as, exit_code)
 where j.id = any ($2) and j.id = o.id
   and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
returning j.id
)
select id from settled
union all
select 0 where bellhop.ended(array(select id from settled), true) > 0
