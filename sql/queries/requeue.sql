-- Jobs that were claimed and not run go back, as if they had not been claimed: this is not an attempt.
-- $1 instance, $2 ids, $3 fences, $4 why each waits now (empty: nothing to say). For a run that had begun: $5 why it
-- was lost (empty: it had not begun), $6 host, $7 child, and how long ago in µs it $8 began and $9 ended: that is kept
-- and reported (the newest 20 of a job). $10 for how many ms it rests. Index there: lost_run's primary key.
-- Guard: still ours under this fence. Index: the primary key; `|| ''` prevents use of jobqueue_taken, which still has
-- all rows that ran since the last VACUUM. A job that was asked to stop is cancelled, or failed if that was killjob.
-- Jobs that waited for one that is over are released, or fail; a row 0: some are ready now.
with back as (
update bellhop.jobqueue j
   set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled'
                    when o.rests > 0 then 'scheduled' else 'ready' end,
       run_at = case when o.rests > 0 then clock_timestamp() + o.rests * interval '1 ms' else j.run_at end,
       error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,
       started_at = case when j.attempt = 1 and j.state = 'assigned' then null else j.started_at end,
       waiting_for = nullif(o.why, ''), progress = null, progress_text = null, lost = j.lost + (o.lost <> '')::int
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[])
    as o (id, fence, why, lost, host, child, began, ended, rests)
 where j.id = any ($2) and j.id = o.id
   and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
returning j.id, j.state, j.fence, j.attempt + 1 as attempt, j.lost as n, j.spawned_at, o.lost, o.host, o.child, o.began, o.ended
), kept as (
  insert into bellhop.lost_run (job, n, attempt, fence, host, child, instance, spawned_at, started_at, lost_at, reason)
  select b.id, b.n, b.attempt, b.fence, nullif(b.host, ''), nullif(b.child, ''), $1, b.spawned_at,
         clock_timestamp() - b.began * interval '1 microsecond', clock_timestamp() - coalesce(b.ended, 0) * interval '1 microsecond', b.lost
    from back b where b.lost <> ''
  on conflict do nothing
), told as (
  insert into bellhop.log (job, attempt, child, host, level, line)
  select b.id, b.attempt, nullif(b.child, ''), nullif(b.host, ''), 'note', 'lost: ' || b.lost || ', given back; not counted as an attempt'
    from back b where b.lost <> ''
), trimmed as (
  delete from bellhop.lost_run l
   using back b
   where l.job = any (array(select t.id from back t where t.lost <> '' and t.n > 20)) and l.job = b.id and l.n <= b.n - 20
)
select id from back
union all
select 0 where bellhop.ended(array(select id from back where state in ('cancelled', 'failed')), true) > 0
