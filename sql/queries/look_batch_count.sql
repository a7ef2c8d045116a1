-- $1 id of a batch: how many of its jobs are in each state. Guard: bellhop.job, which shows readers all and submitters
-- their own. Index: dependency's primary key; the queue's.
select c.jobs, c.waiting, c.running, c.succeeded, c.failed, c.cancelled, c.quarantined
  from bellhop.batch_count($1::bigint) c
 where c.jobs is not null
