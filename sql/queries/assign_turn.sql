-- assign_turn
-- Whether it is this instance's turn to give workflows to instances: one at a time does, and who finds another at it does not wait
-- for that. The key is "bellhop\3", and it is kept to the end of the transaction. Guard: that. Index: none.
select pg_try_advisory_xact_lock(7090192401229115395)
