-- Changes jobs that wait: $1 ids, then the changes, as arguments of bellhop.edit by name. The state before is for words
-- only; bellhop.edit looks again under a lock. Index: the primary key.
select j.id, j.was, bellhop.edit({arguments}) as state
  from (select q.id, q.state as was from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
