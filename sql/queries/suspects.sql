-- The other live instances: their names and processes, and whether they are silent for longer than the lag they
-- promised, on the database's clock; and the types they serve. A server that was promoted may lack the last heartbeats:
-- there, silence counts from the beginning of its era at the earliest. Before its era has begun, no instance is silent.
-- $1 instance. Index: instance_live, era_now's primary key.
select id, name, machine, pid, process_start,
       heartbeat_at < clock_timestamp() - lag
         and exists (select from bellhop.era_now e where e.floor = 0 or e.began_at < clock_timestamp() - i.lag) as silent,
       array(select a.type from bellhop.agent a where a.instance = i.id) as types
  from bellhop.instance i
 where state = 'live' and id <> $1
