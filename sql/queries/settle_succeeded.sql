-- First attempts that succeeded: the job's row is their whole record.
-- $1 instance, $2 ids, $3 fences, $4 children, $5 successes, $6 how long ago each ended, in ms.
-- A start that is written with the same batch has that batch's time: nothing ends before it starts.
-- Guard: the row is still ours under this fence and runs. Index: the primary key; `|| ''` prevents use of
-- jobqueue_taken, which still has all rows that ran since the last VACUUM.
-- The same statement releases jobs that waited for them; a row 0: some are ready now. Index: dependency_open.
with settled as (
update bellhop.jobqueue j
   set state = 'succeeded', started_at = coalesce(j.started_at, now() - o.ago * interval '1 ms'), ended_at = greatest(coalesce(j.attempt_at, j.started_at), clock_timestamp() - o.ago * interval '1 ms'), exit_code = 0, child = o.child,
       successes = nullif(o.successes, 0), waiting_for = null, error = null
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::int[]) as o (id, fence, child, successes, ago)
 where j.id = any ($2) and j.id = o.id
   and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
returning j.id
)
select id from settled
union all
select 0 where bellhop.ended(array(select id from settled), true) > 0
