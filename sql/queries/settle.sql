-- Every other outcome: failures, retries, cancels, quarantine, later attempts, MSQ jobs.
-- $1 instance, then arrays: $2 id, $3 fence, $4 state, $5 exit code, $6 error, $7 child, $8 successes,
-- $9 delay in ms until the next attempt, $10 death, $11 ended how long ago in ms,
-- $12 items total, $13 items done, $14 items failed (done negative: not an MSQ job, leave them alone),
-- $15 the part of the error that an agent did not write (NULL: all of it), $16 the result, JSON (NULL: none),
-- $17 ended_as.
-- Guard: the row is still ours under this fence and runs. Index: the primary key; `|| ''` prevents use of
-- jobqueue_taken, which still has all rows that ran since the last VACUUM.
-- A job that was asked to stop is cancelled instead of tried again; failed, if that was killjob.
-- The same statement releases jobs that waited for those that are over; a row 0: some are ready now. Index:
-- dependency_open.
with o as (
  select * from unnest($2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::text[], $7::text[], $8::int[], $9::bigint[], $10::bool[],
                       $11::int[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[])
    as o (id, fence, state, exit_code, error, child, successes, delay, death, ago, total, done, failed, reason, result, ended_as)
), settled as (
  update bellhop.jobqueue j
     set state = case when j.cancel_requested and j.killed_by is not null and o.state in ('scheduled', 'ready', 'cancelled') then 'failed'
                      when o.state in ('scheduled', 'ready') and j.cancel_requested then 'cancelled' else o.state end,
         ended_at = case when o.state in ('scheduled', 'ready') and not j.cancel_requested then null
                         else greatest(coalesce(j.attempt_at, j.started_at), clock_timestamp() - o.ago * interval '1 ms') end,
         started_at = coalesce(j.started_at, now() - o.ago * interval '1 ms'), -- a failover may have lost the write of the start
         run_at = case when o.state = 'scheduled' then clock_timestamp() + o.delay * interval '1 ms' else j.run_at end,
         exit_code = o.exit_code,
         error = case when j.cancel_requested and j.killed_by is not null and o.state in ('scheduled', 'ready', 'cancelled') then 'killed: by ' || j.killed_by
                      else o.error end, reason = o.reason, child = o.child, successes = nullif(o.successes, 0),
         deaths = j.deaths + o.death::int,
         ended_as = o.ended_as,
         result = case when o.state not in ('scheduled', 'ready') then o.result::jsonb end,
         progress = case when o.state not in ('scheduled', 'ready') then j.progress end,
         progress_text = case when o.state not in ('scheduled', 'ready') then j.progress_text end,
         waiting_for = case when o.state = 'scheduled' and not j.cancel_requested then 'retry_delay' end,
         items_total = case when o.done < 0 then j.items_total when o.total < 0 then null else o.total end,
         items_done = case when o.done < 0 then j.items_done else o.done end,
         items_failed = case when o.done < 0 then j.items_failed else o.failed end
    from o
   where j.id = any ($2) and j.id = o.id
     and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
  returning j.id, j.state, j.fence, j.attempt, j.host, coalesce(j.attempt_at, j.started_at) as began, j.spawned_at, o.exit_code, o.error, o.reason, o.child, o.successes, o.ago
), kept as (
  insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, reason, successes, spawned_at)
  select s.id, s.attempt, s.fence, s.host, s.child, s.began, greatest(s.began, clock_timestamp() - s.ago * interval '1 ms'), s.exit_code, s.error, s.reason,
         nullif(s.successes, 0), s.spawned_at
    from settled s
  on conflict do nothing
)
select id from settled
union all
select 0 where bellhop.ended(array(select id from settled where state not in ('scheduled', 'ready')), true) > 0
