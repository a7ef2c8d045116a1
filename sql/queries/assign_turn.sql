-- One instance at a time gives workflows to instances: the key is "bellhop\3", and it is kept to the end of the transaction. Guard: that. Index: none.
select pg_advisory_xact_lock(7090192401229115395)
