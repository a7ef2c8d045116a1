-- Active workflows, the instance of each, whether a run is open, and the instances that may have it (NULL: all).
-- Indexes: run_open, sensor_watched; all active workflows are read.
select w.name, coalesce(w.instance, 0), exists (select from bellhop.run r where r.workflow = w.name and r.state in ('queued', 'running')),
       case when exists (select from bellhop.sensor s where s.workflow = w.name and s.kind in ('notify', 'file', 'kafka'))
            then bellhop.able(w.definition -> 'sensor') end
  from bellhop.workflow w where w.active
