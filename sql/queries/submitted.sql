-- The jobs of a type that this transaction has submitted, for tests of apps, which have small queues. $1 type. Index:
-- none is worth it.
select j.id, j.args, j.msq, j.key, j.priority::int, j.run_on, j.held, j.max_attempts, j.vars, j.traceparent
  from bellhop.jobqueue j
 where j.txid = pg_current_xact_id_if_assigned() and j.type = $1
 order by j.id
