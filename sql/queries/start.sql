-- Assigned jobs that a child has taken. $1 instance, $2 ids, $3 fences, $4 how long ago each was given to its child,
-- and $5 how long ago the child was launched, in µs (NULL: not known; it was up): this is written later, maybe with the
-- end.
-- Guard: still ours under this fence. Index: the primary key; `|| ''` prevents use of jobqueue_taken, which still has
-- all rows that ran since the last VACUUM.
-- A running job is not stopped: an earlier try was committed, or the claim was lost and is re-asserted.
update bellhop.jobqueue j
   set state = 'running', waiting_for = null,
       started_at = coalesce(j.started_at, clock_timestamp() - coalesce(o.given, 0) * interval '1 microsecond'),
       attempt_at = case when j.state = 'running' then j.attempt_at
                         when j.started_at is not null then clock_timestamp() - coalesce(o.given, 0) * interval '1 microsecond' end,
       spawned_at = coalesce(clock_timestamp() - o.launched * interval '1 microsecond', j.spawned_at)
  from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) as o (id, fence, given, launched)
 where j.id = any ($2) and j.id = o.id and j.fence = o.fence and j.instance = $1 and j.state || '' in ('assigned', 'running')
returning j.id
