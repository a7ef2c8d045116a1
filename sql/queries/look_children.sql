-- The children of live instances, as last published. Index: instance_live.
select c.instance, c.host, c.name, c.type, c.state, c.pid, c.job, c.since, c.done, c.deaths,
       extract(epoch from clock_timestamp() - c.since)::float8 as age
  from bellhop.instance i
  join bellhop.child c on c.instance = i.id
 where i.state = 'live'
 order by c.host, c.type, length(c.name), c.name, c.instance
