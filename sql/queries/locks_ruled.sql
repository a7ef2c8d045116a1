-- The time, and whether there are filters: only then rules and what runs are read. A statement of its own, after the pass's turn has come:
-- what waits for that sees the filters of before. Guard: none, it only reads. Index: none, filters are few.
select clock_timestamp(), exists (select from bellhop.filter)
