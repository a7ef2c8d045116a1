-- `bellhop workflow projects`: projects with their workflows, how many of these are active, their open runs, and those
-- that failed within a day. Runs of deleted workflows have no project. Index: workflow is read whole; run_open,
-- run_ended.
select w.project, count(*) as workflows, count(*) filter (where w.active) as active,
       coalesce(sum(o.running), 0)::bigint as running, coalesce(sum(o.queued), 0)::bigint as queued, coalesce(sum(f.n), 0)::bigint as failed
  from bellhop.workflow w
  left join (select r.workflow, count(*) filter (where r.state = 'running') as running, count(*) filter (where r.state = 'queued') as queued
               from bellhop.run r where r.state in ('queued', 'running') group by r.workflow) o on o.workflow = w.name
  left join (select r.workflow, count(*) as n
               from bellhop.run r where r.ended_at > now() - interval '1 day' and r.ended_at is not null and r.state = 'failed'
              group by r.workflow) f on f.workflow = w.name
 group by w.project order by w.project
