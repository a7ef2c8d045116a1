-- Starts, or goes on with, operation $1. Guard: operators only, and its state. Index: operation's primary key.
select bellhop.operation_start($1::bigint)
