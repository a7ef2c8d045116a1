-- The last lines of a job's log, oldest first, and the beginning of each. $1 job, $2 attempt (NULL: any), $3 levels, $4
-- words (LIKE; NULL: all), $5 how many, $6 how many characters of each, $7 before this one (NULL: the last). Index:
-- log_job backwards; 50,000 lines are looked at.
select x.id, x.job, x.attempt, x.child, x.host, x.level, x.at, left(x.line, $6::int) as line
  from (select l.* from (select * from bellhop.job_log l where l.job = $1 and ($7::bigint is null or l.id < $7::bigint) order by l.id desc limit 50000) l
         where ($2::int is null or l.attempt = $2::int) and l.level = any ($3::text[]) and ($4::text is null or l.line ilike $4::text)
         order by l.id desc limit $5::bigint) x
 order by x.id
