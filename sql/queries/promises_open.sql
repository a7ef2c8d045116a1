-- The open promises of jobs that have not ended, at most $1, the next ones first, whether they are known to be in danger, and when their
-- jobs expire if they have not begun. Guard: none, it only reads. Index: promise_open; the queue's primary key.
select p.job, p.by, p.danger_at is not null as danger,
       case when j.state || '' in ('held', 'blocked', 'scheduled', 'ready') and isfinite(j.not_after) then j.not_after end as expires
  from bellhop.promise p join bellhop.jobqueue j on j.id = p.job
 where p.outcome is null and j.state || '' not in ('succeeded', 'failed', 'cancelled', 'quarantined')
 order by p.by limit $1
