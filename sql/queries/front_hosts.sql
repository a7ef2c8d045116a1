-- The hosts of live instances and what runs on them, for FOSSology's `load`. Index: instance_live.
select h.name, h.slots, count(c.name) filter (where c.state = 'RUNNING')::integer as running
  from bellhop.instance i
  join bellhop.host h on h.instance = i.id
  left join bellhop.child c on c.instance = h.instance and c.host = h.name
 where i.state = 'live'
 group by h.instance, h.name, h.slots
 order by h.name, h.instance
