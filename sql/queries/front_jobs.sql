-- Jobs that are not over, running ones first, for FOSSology's `status`. $1: how many.
-- Indexes: jobqueue_taken; jobqueue_ready, jobqueue_pinned, jobqueue_waiting.
(select j.id, j.state, j.type, j.priority::integer, coalesce(j.host, '') as host
   from bellhop.jobqueue j where j.state in ('assigned', 'running') and j.type <> 'command' order by j.id limit $1)
union all
(select j.id, j.state, j.type, j.priority::integer, '' from bellhop.jobqueue j
  where j.state in ('held', 'blocked', 'scheduled') and j.type <> 'command' limit $1)
union all
(select j.id, j.state, j.type, j.priority::integer, '' from bellhop.jobqueue j
  where j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null and j.type <> 'command' limit $1)
union all
(select j.id, j.state, j.type, j.priority::integer, '' from bellhop.jobqueue j
  where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null and j.type <> 'command' limit $1)
union all
(select j.id, j.state, j.type, j.priority::integer, '' from bellhop.jobqueue j
  where j.state = 'ready' and not j.held and j.locks is not null and j.type <> 'command' limit $1)
limit $1
