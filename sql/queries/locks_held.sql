-- What jobs hold just now, and who was made to wait so long that it is reserved for. Read in a pass, after its turn has come and
-- what was over is gone: every row is alive. Mode turn: the job is looked at since that lock is free.
-- $1 types whose agents say which locks their jobs need. Guard: none, it only reads. Index: none, the tables are small.
select g.job, g.level, g.name, g.mode, g.since, g.until is not null as past, null::smallint as priority, null::text[] as locks, null::text[] as reasons,
       null as type, null as args, null as key, null::jsonb as vars, null as run_on, null as submitted_by
  from bellhop.lock_grant g
 where g.mode <> 'kept'
union all
-- What running jobs wait for is kept from those that are ready.
select w.job, w.level, w.name, w.mode, w.since, false, null, null, null, null, null, null, null, null, null
  from bellhop.lock_waiting w
union all
select j.id, '', '', 'reserved', j.created_at, false, j.priority, j.locks, j.reasons, j.type,
       case when a.asked then j.args end, case when a.asked then j.key end, case when a.asked then j.vars end, j.run_on, j.submitted_by
  from bellhop.lock_reserved r
  cross join lateral (select * from bellhop.lockable_row l where l.id = r.job limit 1) j
 cross join lateral (select j.type = any ($1::text[]) or exists (select from bellhop.filter)) a (asked) -- by templates, or by filters
