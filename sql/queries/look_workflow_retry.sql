-- Lets a failed run go on: $1. Guard: operators only, and its state. Index: the primary key.
select bellhop.workflow_retry($1::bigint)
