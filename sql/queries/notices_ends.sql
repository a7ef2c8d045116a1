-- Ends of runs whose receivers are not worked out yet, $1 at most, with all that decides these. No other instance has
-- them until this transaction ends. If the workflow was deleted, the definition is that of the run. Index: run_end's
-- and workflow's primary keys; run_success.
select e.id, e.run, e.workflow, coalesce(w.project, p.definition ->> 'project', ''), e.state, coalesce(e.reason, ''), e.at,
       (select s.ended_at from bellhop.run s
         where s.workflow = e.workflow and s.state = 'succeeded' and s.id <> e.run and s.ended_at <= e.at order by s.ended_at desc limit 1),
       coalesce(w.definition, p.definition) -> 'notify'
  from bellhop.run_end e
  left join bellhop.workflow w on w.name = e.workflow
  left join bellhop.run r on r.id = e.run
  left join bellhop.workflow_past p on p.workflow = e.workflow and p.version = r.version and w.name is null
 order by e.id limit $1
   for update of e skip locked
