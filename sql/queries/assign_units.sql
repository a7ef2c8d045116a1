-- Active workflows, who has them, and whether a run is open. Index: run_open; all active workflows are read.
select w.name, coalesce(w.instance, 0), exists (select from bellhop.run r where r.workflow = w.name and r.state in ('queued', 'running'))
  from bellhop.workflow w where w.active
