-- The other live instances: their names and processes, and whether they are silent for longer than the lag they
-- promised, on the database's clock; and the types they serve.
-- $1 instance. Index: instance_live.
select id, name, machine, pid, process_start, heartbeat_at < clock_timestamp() - lag as silent,
       array(select a.type from bellhop.agent a where a.instance = i.id) as types
  from bellhop.instance i
 where state = 'live' and id <> $1
