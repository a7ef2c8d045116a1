-- One job as every reader may see it. $1 id. Index: the primary key.
select j.id, j.state, j.type, j.priority, j.priority_name, j.key, j.run_on, j.host, j.child, j.instance, j.attempt, j.max_attempts, j.fence,
       j.created_at, j.run_at, j.not_after, j.started_at, j.ended_at, j.exit_code, j.error, j.waiting_for, j.cancel_requested, j.on_failure,
       j.locks, j.reasons, j.is_msq, j.items_total, j.items_done, j.items_failed, j.progress, j.progress_text, j.traceparent, j.run, j.step, j.ended_as, j.submitted_by,
       extract(epoch from clock_timestamp() - j.created_at)::float8 as age
  from bellhop.job j
 where j.id = $1
