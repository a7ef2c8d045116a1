-- What was claimed and not run goes back, as if it had not been claimed: it is no attempt.
-- $1 instance, $2 ids, $3 fences, $4 why it waits now, each (empty: nothing to say).
-- Guard: still ours under this fence. Index: the primary key, or jobqueue_taken. A job that was asked to stop is cancelled.
update bellhop.jobqueue j
   set state = case when j.cancel_requested then 'cancelled' else 'ready' end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,
       started_at = case when j.attempt = 1 and j.state = 'assigned' then null else j.started_at end,
       waiting_for = nullif(o.why, '')
  from unnest($2::bigint[], $3::bigint[], $4::text[]) as o (id, fence, why)
 where j.id = any ($2) and j.id = o.id
   and j.fence = o.fence and j.instance = $1 and j.state in ('running', 'assigned')
returning j.id
