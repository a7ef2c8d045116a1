-- Of outcomes that changed no row: which are recorded.
-- $1 instance, $2 ids, $3 fences, $4 whether they may have been written by a commit whose answer was lost. Index: the
-- primary key.
-- `runs` is true when the row is still running under our fence: its start is written, its outcome is not. (A crash may have
-- undone the claim, and re-assertion may have restored it after the batch was first tried.)
select j.id, j.state in ('assigned', 'running') as runs
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
  join bellhop.jobqueue j on j.id = o.id and j.fence = o.fence
 where $4 and j.id = any ($2)
   and (j.instance = $1 and (j.state <> 'assigned' or j.waiting_for like 'lock_held: %')
     or j.instance is null and j.state in ('ready', 'cancelled', 'failed'))
union
-- Tried again since, and so under another fence, or ended by the agent itself (bellhop.finish): the outcome of this
-- attempt is kept. Index: the primary key.
select p.job, false
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
  join bellhop.attempt_past p on p.job = o.id and p.fence = o.fence
 where p.job = any ($2) and ($4 or p.own)
