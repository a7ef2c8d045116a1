-- assign_turn
-- Whether it is this instance's turn to give workflows to instances. One instance does at a time; another does not wait
-- for it. The key is "bellhop\3", and it is kept to the end of the transaction. Guard: that key. Index: none.
select pg_try_advisory_xact_lock(7090192401229115395)
