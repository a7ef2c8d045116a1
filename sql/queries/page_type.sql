-- The work done of one type since a time, by minute, instances apart. $1 type, $2 since. At most 10,000 rows, the newest.
-- Guard: none, it only reads. Index: history_of, backwards.
select h.minute, h.type, h.instance, h.taken, h.succeeded, h.failed, h.cancelled, h.retried, h.items_done, h.items_failed, h.wait, h.run
  from bellhop.history h
 where h.type = $1::text and h.minute >= $2::timestamptz
 order by h.minute desc limit 10000
