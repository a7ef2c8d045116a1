-- What earlier attempts of a job have done, in order: steps, sleeps, events. $1 id.
-- Guard: bellhop.step shows outputs to operators and the job's submitter. Index: saved_step's primary key.
select s.name, s.output, s.at
  from bellhop.step s
 where s.job = $1
 order by s.at, s.name
