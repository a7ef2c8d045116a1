-- Whether somebody waits to commit because somebody else commits who has notified: the lock on database 0 that PostgreSQL
-- keeps for that (async.c). Guard: none, it only reads. Index: none, locks are in memory.
select exists (select from pg_locks
                where not granted and locktype = 'object' and database = 0 and classid = 'pg_catalog.pg_database'::regclass and objid = 0)
