-- Live instances but me: who they are, and whether they are silent for longer than the lag they promised, on the database's clock.
-- $1 instance. Index: instance_live.
select id, name, machine, pid, process_start, heartbeat_at < clock_timestamp() - lag as silent
  from bellhop.instance
 where state = 'live' and id <> $1
