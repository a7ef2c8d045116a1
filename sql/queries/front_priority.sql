-- Sets a job's priority, and that of the other waiting jobs of FOSSology's job (vars' jobId). $1 id, $2 priority.
-- Returns how many.
-- Guard: they wait. Indexes: the primary key; jobqueue_ready, jobqueue_pinned, jobqueue_waiting: as many rows as wait.
with this as (
  select j.id, j.vars ->> 'jobId' as of_job from bellhop.jobqueue j where j.id = $1
), those as (
  select w.id from bellhop.jobqueue w, this t where w.state = 'ready' and not w.held and w.run_on is null and w.locks is null and w.share is null and w.vars ->> 'jobId' = t.of_job
  union all
  select w.id from bellhop.jobqueue w, this t where w.state = 'ready' and not w.held and w.run_on is not null and w.locks is null and w.share is null and w.vars ->> 'jobId' = t.of_job
  union all
  select w.id from bellhop.jobqueue w, this t where w.state = 'ready' and not w.held and w.locks is not null and w.vars ->> 'jobId' = t.of_job
  union all
  select w.id from bellhop.jobqueue w, this t where w.state in ('held', 'blocked', 'scheduled') and w.vars ->> 'jobId' = t.of_job
  union all
  select t.id from this t
), changed as (
  update bellhop.jobqueue j set priority = $2, priority_name = null, behind = null
   where j.id = any (array(select id from those)) and j.state in ('held', 'blocked', 'scheduled', 'ready')
)
select count(*) from this
