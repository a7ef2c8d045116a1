-- The jobs that this instance holds according to the database. $1 instance. Index: jobqueue_taken.
select j.id, j.fence, j.cancel_requested, j.cancel_now
  from bellhop.jobqueue j
 where j.instance = $1 and j.state in ('assigned', 'running')
