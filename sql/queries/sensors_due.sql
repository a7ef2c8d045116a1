-- Workflows whose sensors are due, $1 at most: those of instance $2, and those of others that are so late that their
-- owner may be gone. No other instance has them until this transaction ends, and a workflow that an app has locked is
-- not waited for. The last times at which each has fired are for "at most so many per". Index: sensor_next; event_of;
-- run_open.
select s.workflow, w.definition -> 'sensor', coalesce(s.held, nullif(s.next_fire, '-infinity')), clock_timestamp(),
       array(select e.at from bellhop.event e where e.workflow = s.workflow and e.slot is not null
              order by e.at desc limit coalesce((w.definition -> 'sensor' ->> 'at_most')::integer, 0)),
       exists (select from bellhop.run r where r.workflow = s.workflow and r.state in ('queued', 'running')),
       (select count(*) from (select from bellhop.run r where r.workflow = s.workflow and r.state = 'queued' limit 1000) q)
  from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
 where s.next_fire <= now() and (w.instance = $2 or s.next_fire < now() - interval '2 s')
 order by s.next_fire limit $1
   for update of s, w skip locked
