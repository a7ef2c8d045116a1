-- Locks that running jobs give back: $1 job, $2 fence, $3 level, $4 name. A row without a living fence holds nothing,
-- and the next pass hands the lock on, as when a job ends. Guard: the fence. Index: lock_grant's primary key.
update bellhop.lock_grant g
   set fence = -1, until = null
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) as a (job, fence, level, name)
 where g.level = a.level and g.name = a.name and g.job = a.job and g.fence = a.fence and g.mode in ('exclusive', 'shared')
