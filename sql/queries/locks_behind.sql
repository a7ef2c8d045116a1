-- The locks that a job holds or waits for behind which ready jobs wait, and what the first of them needs.
-- $1 the job, $2 its fence. Guard: none, it only reads. Index: jobqueue_locked, one probe for each lock; the others are small.
select l.level, l.name, n.locks
  from (select g.level, g.name from bellhop.lock_grant g where g.job = $1 and g.fence = $2
        union
        select w.level, w.name from bellhop.lock_wait w where w.job = $1) l
 cross join lateral (
   select j.locks from bellhop.jobqueue j
    where coalesce(j.behind, '') = l.level || ':' || l.name and j.state = 'ready' and not j.held and j.locks is not null
    order by j.type, j.priority, j.id limit 1) n
