-- Who holds which lock, and the first $1 of those who wait behind each. Guard: none, it only reads; readers only.
-- Indexes: those of bellhop.lock_queue.
select l.level, l.name, coalesce(l.mode, '') as mode, l.what, l.job, l.type, coalesce(l.instance, 0) as instance,
       extract(epoch from clock_timestamp() - l.since)::float8 as age, coalesce(l.place, 0) as place, coalesce(l.waiting_for, '') as waiting_for
  from bellhop.lock_queue($1) l
 order by l.level, l.name, l.what, l.place, l.job
