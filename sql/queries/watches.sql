-- The sensors that instance $1 watches, its last report about each, and where each stands. Index: sensor_watched;
-- sensor_place's primary key.
select w.name, w.definition -> 'sensor', coalesce(s.problem, ''), p.place
  from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow left join bellhop.sensor_place p on p.workflow = s.workflow
 where s.kind in ('notify', 'file', 'kafka') and w.active and w.instance = $1
 order by w.name
