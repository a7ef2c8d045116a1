-- The sensors that instance $1 watches, and what it has told of each. Index: sensor_watched.
select w.name, w.definition -> 'sensor', coalesce(s.problem, '')
  from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
 where s.kind in ('notify', 'file', 'kafka') and w.active and w.instance = $1
 order by w.name
