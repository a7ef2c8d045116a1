-- The work of one job that runs, or ran, on an engine. $1 id. Index: engine_job_of.
select tag, attempt, engine, engine_id, state, stage, how, exit_code, reason, said, sent_at, ran_at, ended_at, instance
  from bellhop.remote
 where job = $1
 order by attempt, sent_at
