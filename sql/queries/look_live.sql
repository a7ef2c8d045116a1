-- The instances with that name ($1) that are not buried: where each runs, and whether its heartbeat is too old.
-- Index: instance_live.
select coalesce(i.machine, '') as machine, i.pid, coalesce(i.process_start, '') as process_start,
       i.heartbeat_at <= clock_timestamp() - i.lag as silent
  from bellhop.instance i where i.state = 'live' and i.name = $1
