-- Stops operation $1. Guard: operators only, and its state. Index: operation's primary key.
select bellhop.operation_stop($1::bigint)
