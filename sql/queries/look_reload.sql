-- The live instances, and the result of each one's last reload. Index: instance_live.
select i.id, i.name, i.hostname, i.machine, i.pid, i.process_start, i.reloaded_at, i.reload_failed, coalesce(i.reload_said, '') as reload_said
  from bellhop.instance i
 where i.state = 'live'
 order by i.id
