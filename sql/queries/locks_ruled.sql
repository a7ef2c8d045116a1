-- The time, and whether there are filters: only then rules and running jobs are read. A separate statement, after the
-- pass's turn has come: the statement that waits for the turn sees the filters from before. Guard: none, it only reads.
-- Index: none, filters are few.
select clock_timestamp(), exists (select from bellhop.filter)
