-- Whether a transaction waits to commit because another one commits that has notified: PostgreSQL keeps a lock on
-- database 0 for that (async.c). Guard: none, it only reads. Index: none, locks are in memory.
select exists (select from pg_locks
                where not granted and locktype = 'object' and database = 0 and classid = 'pg_catalog.pg_database'::regclass and objid = 0)
