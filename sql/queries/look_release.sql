-- $1 ids. The state before is for words only; bellhop.release looks again under a lock. Index: the primary key.
select j.id, j.was, bellhop.release(j.id) as state
  from (select q.id, case when q.held and q.state in ('blocked', 'scheduled', 'ready') then 'held' else q.state end as was
          from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
