-- The hosts of live instances. Index: instance_live.
select h.instance, h.name, h.slots, h.resources, h.serves, h.state, h.trouble, coalesce(h.locates, false) as locates,
       count(c.name) filter (where c.state not in ('FREE', 'FAIL')) as children,
       coalesce(sum(coalesce(a.slots, 1)) filter (where c.state not in ('FREE', 'FAIL')), 0)::integer as taken,
       count(c.name) filter (where c.state = 'RUNNING') as running
  from bellhop.instance i
  join bellhop.host h on h.instance = i.id
  left join bellhop.child c on c.instance = h.instance and c.host = h.name
  left join bellhop.agent a on a.instance = c.instance and a.type = c.type
 where i.state = 'live'
 group by h.instance, h.name
 order by h.name, h.instance
