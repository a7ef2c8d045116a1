-- A client waits for the end of these jobs: the instance that records it is to ring. $1 as in ring_over.sql.
select pg_notify('bellhop_awaited', ids)::text from unnest($1::text[]) as o (ids)
