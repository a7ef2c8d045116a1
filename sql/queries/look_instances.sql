-- The live instances and what they hold. Indexes: instance_live; jobqueue_taken.
select i.id, i.name, i.hostname, i.pid, i.version, i.state, i.started_at, i.heartbeat_at, i.lag::text as lag, i.listen,
       extract(epoch from clock_timestamp() - i.started_at)::float8 as age,
       extract(epoch from clock_timestamp() - i.heartbeat_at)::float8 as silent,
       (select count(*) from bellhop.job j where j.instance = i.id and j.state in ('assigned', 'running')) as jobs
  from bellhop.instance i
 where i.state = 'live'
 order by i.id
