-- Records the tags of jobs that are about to be submitted. $1 instance, $2 ids, $3 fences, $4 the engine.
-- Guard: still ours under this fence, and no tag of the job is open. Index: the queue's primary key, engine_job_one.
-- An instance that records a tag again (the answer to the first time was lost) finds it there, as its own.
with ours as materialized (
  select j.id, j.fence, j.attempt, j.type
    from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
    join bellhop.jobqueue j on j.id = o.id
   where j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
     for no key update of j
), made as (
  insert into bellhop.engine_job as e (tag, job, fence, attempt, type, engine, instance, state)
  select format('bellhop-%s-%s', o.id, o.fence), o.id, o.fence, o.attempt, o.type, $4, $1, 'submitting' from ours o
  on conflict (tag) do update set changed_at = clock_timestamp() where e.state = 'submitting' and e.instance = $1
  returning e.job, e.fence
)
select job, fence from made
