-- What was claimed and not run goes back, as if it had not been claimed: it is no attempt.
-- $1 instance, $2 ids, $3 fences, $4 why it waits now, each (empty: nothing to say).
-- Guard: still ours under this fence. Index: the primary key; `|| ''` keeps away from jobqueue_taken,
-- in which all that ran since the last VACUUM still stands. A job that was asked to stop is cancelled, or failed
-- when that was killjob.
-- Who waited for one that is over is released, or fails; a row 0: some are ready now.
with back as (
update bellhop.jobqueue j
   set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
       error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,
       started_at = case when j.attempt = 1 and j.state = 'assigned' then null else j.started_at end,
       waiting_for = nullif(o.why, '')
  from unnest($2::bigint[], $3::bigint[], $4::text[]) as o (id, fence, why)
 where j.id = any ($2) and j.id = o.id
   and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
returning j.id, j.state
)
select id from back
union all
select 0 where bellhop.ended(array(select id from back where state in ('cancelled', 'failed')), true) > 0
