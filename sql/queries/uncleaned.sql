-- Jobs whose files a host is to delete now: jobs that it ran and that succeeded, at most $2; those that made trouble
-- come last. Its workers are called $1:something. Jobs that an end of the process has left as dusting are among them.
-- Index: rjm_dusty; the primary key.
update bellhop.rjm r
   set state = 'dusting'
 where r.job = any (array(
         select d.job from bellhop.rjm d join bellhop.jobqueue j on j.id = d.job
          where d.state <> 'old' and j.state = 'succeeded' and split_part(j.host, ':', 1) = $1
          order by d.trouble is not null, d.job limit $2
            for update of d skip locked))
returning r.job, r.files, coalesce(r.trouble, '')
