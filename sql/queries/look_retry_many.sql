-- $1 ids. The state before is for words only; bellhop.retry looks again under a lock. Index: the primary key.
select j.id, j.was, bellhop.retry(j.id) as state
  from (select q.id, q.state as was from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
