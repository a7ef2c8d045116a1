-- Every try at a job. $1 id. Indexes: attempt_past's primary key; the queue's primary key.
select a.attempt, a.host, a.child, a.started_at, a.ended_at, a.exit_code, a.error, a.successes, a.spawned_at
  from bellhop.attempt a
 where a.job = $1
 order by a.attempt, a.started_at
