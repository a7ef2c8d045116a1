-- Assigned jobs that a child has taken. $1 instance, $2 ids, $3 fences.
-- Guard: still ours under this fence. Index: the primary key; `|| ''` keeps away from jobqueue_taken,
-- in which all that ran since the last VACUUM still stands.
-- Running already: an earlier try was committed, or the claim was lost and is re-asserted. That is no reason to stop it.
update bellhop.jobqueue j
   set state = 'running', waiting_for = null,
       started_at = coalesce(j.started_at, clock_timestamp()),
       attempt_at = case when j.state = 'running' then j.attempt_at when j.started_at is not null then clock_timestamp() end
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
 where j.id = any ($2) and j.id = o.id and j.fence = o.fence and j.instance = $1 and j.state || '' in ('assigned', 'running')
returning j.id
