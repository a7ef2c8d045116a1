-- After a commit whose answer was lost: which of these outcomes are recorded.
-- $1 instance, $2 ids, $3 fences. Index: the primary key.
select j.id
  from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
  join bellhop.jobqueue j on j.id = o.id and j.fence = o.fence
 where j.id = any ($2)
   -- Still running: only its start was written, or that would have found the row.
   and (j.instance = $1 and j.state <> 'assigned'
     or j.instance is null and j.state in ('ready', 'cancelled'))
