-- Jobs that have not begun by their not_after, at most $1; how long until the next, in ms. Index: deadline_at, then the primary key.
select expired, next_ms from bellhop.expire($1)
