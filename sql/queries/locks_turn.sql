-- Begins a pass over jobs with locks: all instances make theirs in turn, so that what one has read holds until it
-- commits. Locks of jobs that are over go to the jobs that wait behind them.
-- $1 the advisory lock's key, $2 how many of each lock are to be looked at. Guard: that lock, held to the end of the transaction. Index: lock_grant's, jobqueue_locked.
select bellhop.pass_locks($2) from (select pg_advisory_xact_lock($1)) turn
