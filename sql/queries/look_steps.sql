-- The jobs of a run, $1, in the order in which they were made; error is as the list of jobs shows it to the caller.
-- Index: run's primary key, dependency's, jobqueue's.
select s.step, s.job, s.type, s.state, s.attempt, s.exit_code, s.started_at, j.attempt_at, s.ended_at, s.ended_as, s.cause, j.error
  from bellhop.run_step s join bellhop.every_job j on j.id = s.job
 where s.run = $1::bigint order by s.job
