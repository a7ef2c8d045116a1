-- The jobs of a run, $1, in the order in which they were made. Index: run's primary key, dependency's, jobqueue's.
select s.step, s.job, s.type, s.state, s.attempt, s.exit_code, s.started_at, s.ended_at from bellhop.step s where s.run = $1::bigint order by s.job
