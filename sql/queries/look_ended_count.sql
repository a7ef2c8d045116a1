-- How many jobs have ended in the last $1 seconds, deleted ones too, as instances have counted them. Guard: none, it only reads. Index: the
-- primary key.
select coalesce(sum(h.succeeded + h.failed), 0)::bigint from bellhop.history h
 where h.minute >= clock_timestamp() - $1::float8 * interval '1 second'
