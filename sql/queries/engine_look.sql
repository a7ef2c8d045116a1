-- Whether these jobs have a tag of their present attempt already: the instance that held them before has submitted it,
-- or may have. It marks tags of earlier attempts, which are done, to be swept. Also how many lines of the job's output
-- are kept. $1 instance, $2 ids, $3 fences.
-- Guard: still ours under this fence; another job has no row. Index: the queue's primary key, engine_job_one, log_job.
with ours as materialized (
  select j.id, j.fence, j.attempt
    from unnest($2::bigint[], $3::bigint[]) as o (id, fence)
    join bellhop.jobqueue j on j.id = o.id
   where j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
), served as (
  update bellhop.engine_job e
     set state = 'killing', instance = $1, changed_at = clock_timestamp()
    from ours o
   where e.job = o.id and e.state in ('submitting', 'running', 'ended') and e.attempt < o.attempt
)
select o.id, o.fence, coalesce(e.tag, ''), coalesce(e.state, ''), coalesce(e.engine_id, ''), coalesce(e.stage, ''),
       coalesce(extract(epoch from clock_timestamp() - e.sent_at) * 1000, 0)::bigint,
       coalesce(extract(epoch from clock_timestamp() - e.ran_at) * 1000, -1)::bigint,
       coalesce(e.how, ''), coalesce(e.exit_code, 0), coalesce(e.reason, ''), coalesce(e.said, ''),
       (select count(*) from bellhop.log l where e.tag is not null and l.job = o.id and l.child = e.tag and l.level = 'out')
  from ours o
  left join bellhop.engine_job e on e.job = o.id and e.state in ('submitting', 'running', 'ended') and e.attempt = o.attempt
