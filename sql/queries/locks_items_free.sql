-- Locks that no item of a job needs any more: $1 the job, $2 its fence, $3 levels, $4 names.
-- Guard: the fence, and the advisory lock of passes. Index: lock_grant's primary key.
delete from bellhop.lock_grant g
 using unnest($3::text[], $4::text[]) as a (level, name)
 where g.level = a.level and g.name = a.name and g.job = $1 and g.fence = $2 and g.mode in ('exclusive', 'shared')
