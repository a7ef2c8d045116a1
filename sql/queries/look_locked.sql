-- What the policy has to know of these jobs ($1 ids). Guard: none, it only reads. Index: the primary key.
select j.id, j.type, j.state, j.priority::int as priority, coalesce(j.locks, '{}') as locks,
       extract(epoch from clock_timestamp() - j.created_at)::float8 as age,
       coalesce(extract(epoch from clock_timestamp() - coalesce(j.attempt_at, j.started_at)), 0)::float8 as runs
  from bellhop.every_job j
 where j.id = any ($1::bigint[])
