-- Whether a process that waits for the gate waits behind another that has it. Then no producer is left that did not
-- ring, and none will come while this one waits. It looks at all locks at one time: its answers were true together.
-- $1 the gate's key, $2 the process that waits.
-- Guard: none, it only reads. Index: none, locks are in memory.
select coalesce(bool_or(pid = $2 and not granted) and bool_or(pid <> $2 and granted and mode = 'ExclusiveLock'), false)
  from pg_locks
 where locktype = 'advisory' and objsubid = 1
   and database = (select oid from pg_database where datname = current_database())
   and classid::bigint = ($1::bigint >> 32) and objid::bigint = ($1::bigint & 4294967295)
