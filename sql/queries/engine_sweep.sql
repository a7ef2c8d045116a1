-- Takes the tags that are not needed any more: their job has its outcome, was cancelled while no instance had it, or is
-- deleted. kill is called for them. $1 instance, $2 type, $3 how many at most.
-- Guard: open, and no claim will settle it. Index: engine_job_open, the queue's primary key.
update bellhop.engine_job e
   set state = 'killing', instance = $1, changed_at = clock_timestamp()
 where e.tag = any (array(
         select o.tag
           from bellhop.engine_job o
           left join bellhop.jobqueue j on j.id = o.job
          where o.type = $2 and o.state in ('submitting', 'running', 'ended', 'killing')
            and (o.state = 'killing' or j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                 or j.attempt > o.attempt or j.attempt = o.attempt and j.state || '' not in ('running', 'assigned'))
          order by o.tag
          limit $3
            for update of o skip locked))
returning e.tag, coalesce(e.engine_id, ''), e.job
