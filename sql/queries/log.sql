-- Agents' words, a batch at a time. Job 0: outside any job.
insert into bellhop.log (job, attempt, child, host, level, at, line)
select nullif(job, 0), nullif(attempt, 0), nullif(child, ''), nullif(host, ''), level, clock_timestamp() - ago * interval '1 ms', line
  from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[]) as l (job, attempt, child, host, level, ago, line)
