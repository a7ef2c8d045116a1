-- The work done since a time, by minute and type, instances apart. $1 since, $2 until (NULL: now), $3 types (NULL:
-- all).
-- At most 50,000 rows, the newest. Index: the primary key, backwards.
select h.minute, h.type, h.instance, h.taken, h.succeeded, h.failed, h.cancelled, h.retried, h.items_done, h.items_failed, h.wait, h.run
  from bellhop.history h
 where h.minute >= $1 and h.minute < coalesce($2::timestamptz, 'infinity') and ($3::text[] is null or h.type = any ($3::text[]))
 order by h.minute desc, h.type, h.instance
 limit 50000
