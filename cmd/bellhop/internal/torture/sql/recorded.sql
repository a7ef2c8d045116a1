-- What was kept of jobs that one agent does at a time: not of queries, whose items have agents, and not of jobs that apps take. Seconds count from $1. Guard: none; it reads.
select s.job, extract(epoch from s.at - $1::timestamptz)::float8, s.state, s.fence, coalesce(s.instance, 0)
  from public.torture_seen s join bellhop.jobqueue j on j.id = s.job
 where j.msq is null and j.type in ('warm', 'exec', 'inside') and coalesce(j.key, '') not like 'torture_row/%'
 order by s.job, s.n
