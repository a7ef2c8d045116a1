-- The log of one job. $1 job, $2 attempt (NULL: any), $3 the first attempt wanted, $4 levels, $5 lines with an id up to
-- this one have been seen, $6 how many at most. Index: log_job.
select l.id, l.job, l.attempt, l.child, l.host, l.level, l.at, l.line
  from bellhop.job_log l
 where l.job = $1 and l.id > $5
   and ($2::int is null or l.attempt = $2)
   and (l.attempt is null or l.attempt >= $3)
   and l.level = any ($4::text[])
 order by l.id
 limit $6
