-- Nothing is left of these tags, $1. Guard: they were taken for this. Index: the primary keys.
-- Tags of deleted jobs are deleted with them.
with over as (
  update bellhop.engine_job e
     set state = 'over', changed_at = clock_timestamp()
   where e.tag = any ($1) and e.state = 'killing' and exists (select from bellhop.jobqueue j where j.id = e.job)
  returning e.tag
)
delete from bellhop.engine_job e
 where e.tag = any ($1) and e.state = 'killing' and not exists (select from bellhop.jobqueue j where j.id = e.job)
   and not exists (select from over o where o.tag = e.tag)
