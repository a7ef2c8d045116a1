-- Where a look at the queue begins: every transaction below this is over, and what it left is seen.
select pg_snapshot_xmin(pg_current_snapshot())::text
