-- The holder of each lock, the jobs that wait for it, and which of the asking jobs still run here. Read under the
-- advisory lock of passes.
-- items: the job waits for one of its items; own: it also holds these (level: the lock's text) until it ends.
-- asserted: this instance has taken its running jobs again since the database last crashed.
-- $1 instance, $2 ids and $3 fences of the asking jobs. Guard: none, it only reads. Index: none, the tables are small;
-- the primary key.
select 'holds' as what, l.job, l.level, l.name, l.mode, l.instance, l.since
  from bellhop.lock l where l.mode in ('exclusive', 'shared')
union all
select case when (select j.msq is not null from bellhop.jobqueue j where j.id = w.job) then 'items' else 'waits' end,
       w.job, w.level, w.name, w.mode, w.instance, w.since
  from bellhop.lock_waiting w
union all
select 'own', j.id, o.lock, '', '', j.instance, j.created_at
  from bellhop.jobqueue j cross join unnest(j.locks) as o (lock)
 where j.id = any (array(select w.job from bellhop.lock_wait w)) and j.msq is not null
union all
select 'asks', j.id, '', '', '', j.instance, coalesce(j.attempt_at, j.started_at, j.created_at)
  from bellhop.jobqueue j
  join unnest($2::bigint[], $3::bigint[]) as a (id, fence) on a.id = j.id and a.fence = j.fence
 where j.id = any ($2) and j.instance = $1 and j.state || '' in ('assigned', 'running')
union all
select 'asserted', 0, '', '', '', a.instance, now() from bellhop.asserted a where a.instance = $1
