-- The holders of each lock, the running jobs (or their items) that ask for it, and the first $1 jobs that wait behind
-- it. Guard: none, it only reads; readers only. Indexes: those of bellhop.lock_queue; lock_wait is a small table.
select l.level, l.name, coalesce(l.mode, '') as mode, l.what, l.job, l.type, coalesce(l.instance, 0) as instance, f.fence, l.since,
       extract(epoch from clock_timestamp() - l.since)::float8 as age, coalesce(l.place, 0) as place, false as item,
       coalesce(l.waiting_for, '') as waiting_for, l.what in ('waits', 'next') and l.job = any (array(select bellhop.lock_reservations())) as reserved
  from bellhop.lock_queue($1) l
 cross join lateral (select q.fence from bellhop.every_job q where q.id = l.job offset 0) f
union all
select w.level, w.name, w.mode, 'asks', w.job, j.type, w.instance, w.fence, w.since, extract(epoch from clock_timestamp() - w.since)::float8, 0, j.is_msq,
       coalesce(j.waiting_for, ''), false
  from bellhop.lock_waiting w
 cross join lateral (select q.type, q.is_msq, q.waiting_for from bellhop.every_job q where q.id = w.job offset 0) j
 order by level, name, what, place, job
