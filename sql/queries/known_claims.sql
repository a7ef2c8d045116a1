-- Which of these claims, $1 ids and $2 fences, belong to rows of this database: the job's present claim, or a recorded
-- one. The id alone may be another job's by now. Guard: none, it only reads. Index: the primary keys.
select o.id, o.fence
  from unnest($1::bigint[], $2::bigint[]) as o (id, fence)
 where exists (select from bellhop.jobqueue j where j.id = o.id and j.fence = o.fence)
    or exists (select from bellhop.attempt_past p where p.job = o.id and p.fence = o.fence)
    or exists (select from bellhop.lost_run l where l.job = o.id and l.fence = o.fence)
