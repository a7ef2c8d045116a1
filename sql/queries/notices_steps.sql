-- The steps of run $1 that did not succeed, $2 at the most, those that failed by themselves first; and how many there are. Index: dependency's
-- and the queue's primary keys.
select j.step, j.id, j.type, j.state, j.exit_code, left(coalesce(j.error, ''), 4000), count(*) over ()
  from bellhop.run r join bellhop.dependency d on d.job = r.last join bellhop.jobqueue j on j.id = d.needs
 where r.id = $1 and j.step is not null and j.state <> 'succeeded'
 order by j.ended_by is not null, j.id limit $2
