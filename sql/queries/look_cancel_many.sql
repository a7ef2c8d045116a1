-- $1 ids, $2 kill at once. The state before is for words only; bellhop.cancel looks again under a lock. Index: the primary key.
select j.id, j.was, bellhop.cancel(j.id, $2) as state
  from (select q.id, q.state as was from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
