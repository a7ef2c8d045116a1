-- Reserves for the jobs with locks that have waited for $1 ms by now. It returns how many there were, and in how many ms
-- the next one has waited for so long (infinity: none).
-- Guard: the limit of reserved jobs, and their primary key. Index: jobqueue_locked, one probe for each lock behind which
-- jobs wait, and for each type and priority there.
select u.reserved, coalesce(u.next_in, 'infinity') from bellhop.locks_round($1) u
