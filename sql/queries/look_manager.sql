-- The live instances, whether their sensors start workflows, and how many they have. Index: instance_live; workflow_instance.
select i.id, i.name, bellhop.starts_workflows(i.id) as starts,
       (select count(*) from bellhop.workflow w where w.active and w.instance = i.id) as workflows,
       s.at as stopped_at, s.by as stopped_by
  from bellhop.instance i
  left join lateral (select m.at, m.by from bellhop.manager_stop m where m.name in ('', i.name) order by m.name limit 1) s on true
 where i.state = 'live' order by i.id
