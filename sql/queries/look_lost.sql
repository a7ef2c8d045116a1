-- Runs of a job that were lost, oldest first. $1 id. Index: lost_run's primary key.
select l.attempt, l.host, l.child, l.instance, l.spawned_at, l.started_at, l.lost_at, l.reason
  from bellhop.lost l
 where l.job = $1
 order by l.n
