-- The running jobs, with locks or without: filters with a limit count them. No rows if there is no such filter. Guard:
-- none, it only reads.
-- Index: jobqueue_taken.
select j.id, j.type, j.priority, j.created_at, '{}'::text[] as locks, j.reasons, j.args, j.key, j.vars, j.run_on, j.submitted_by, j.share, j.type as agent
  from bellhop.jobqueue j
 where j.state in ('assigned', 'running') and exists (select from bellhop.filter f where f.action like 'RATE_LIMIT %')
