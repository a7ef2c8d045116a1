-- The agents of live instances. Index: instance_live.
select a.instance, a.type, a.mode, a.dialect, a.command, a.max, a.max_per_host, a.slots, a.resources, a.trouble, a.vars
  from bellhop.instance i
  join bellhop.agent a on a.instance = i.id
 where i.state = 'live'
 order by a.type, a.instance
