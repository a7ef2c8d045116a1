-- As look_retry_many, and each job first forgets the step $2 and those that came after it. $1 ids.
-- Guard: bellhop.retry_from looks again under a lock. Index: the primary keys.
select j.id, j.was, bellhop.retry_from(j.id, $2) as state
  from (select q.id, q.state as was from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
