-- The open promises of jobs that have not ended, at most $1, the next ones first, and whether they are known to be in danger. Guard: none,
-- it only reads. Index: promise_open; the queue's primary key.
select p.job, p.by, p.danger_at is not null as danger
  from bellhop.promise p join bellhop.jobqueue j on j.id = p.job
 where p.outcome is null and j.state || '' not in ('succeeded', 'failed', 'cancelled', 'quarantined')
 order by p.by limit $1
