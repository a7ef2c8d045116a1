-- The progress of jobs: MSQ jobs, and those whose agent reports it.
-- $1 instance, arrays: $2 id, $3 fence, $4 total (negative: not known yet), $5 done, $6 failed, $7 which of its items
-- wait while none of them runs (empty: none; bellhop.explanation reads it).
-- Guard: still ours under this fence. Index: the primary key; `|| ''` prevents use of jobqueue_taken, which still has
-- all rows that ran since the last VACUUM.
update bellhop.jobqueue j
   set items_total = case when o.total < 0 then null else o.total end, items_done = o.done, items_failed = o.failed,
       progress = case when j.msq is not null then case when o.total > 0 then least(1, (o.done + o.failed)::real / o.total) end else j.progress end,
       waiting_for = case when o.waits <> '' then o.waits
                          when j.waiting_for like e'items\\_wait: %' or j.msq is not null and j.waiting_for like e'lock\\_held: %' then null
                          else j.waiting_for end
  from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[]) as o (id, fence, total, done, failed, waits)
 where j.id = any ($2) and j.id = o.id and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
