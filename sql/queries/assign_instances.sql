-- The instances that start workflows. Index: instance_live.
select i.id from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id) order by i.id
