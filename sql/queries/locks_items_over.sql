-- Locks that no item of a job waits for any more: $1 the job, $2 levels and $3 names of those that one still waits for.
-- Guard: the advisory lock of passes. Index: lock_wait's primary key.
delete from bellhop.lock_wait w
 where w.job = $1
   and not exists (select from unnest($2::text[], $3::text[]) as a (level, name) where a.level = w.level and a.name = w.name)
