-- After a commit whose answer was lost: which of these outcomes are recorded.
-- $1 instance, $2 ids, $3 fences. Index: the primary key.
-- One that runs still (ours, under this fence) has its start recorded, and no ending: it may have been taken again, after
-- a crash undid its claim, since the batch looked.
select j.id, j.state = 'running' as runs
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
  join bellhop.jobqueue j on j.id = o.id and j.fence = o.fence
 where j.id = any ($2)
   and (j.instance = $1 and j.state <> 'assigned'
     or j.instance is null and j.state in ('ready', 'cancelled', 'failed'))
union
-- Tried again since, and so under another fence: what became of this attempt is kept. Index: the primary key.
select p.job, false
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
  join bellhop.attempt_past p on p.job = o.id and p.fence = o.fence
 where p.job = any ($2)
