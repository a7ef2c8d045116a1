-- The locks that jobs hold now, and the jobs that waited so long that they are reserved. Read in a pass, after its turn
-- has come and grants that are over are gone: every row is alive. Mode turn: the job is looked at because that lock is
-- free.
-- Reserved jobs are listed wherever they may start: agent is the type whose room the job takes at the asking host, NULL
-- if that host may not start it. The conditions are those of locks_wanted.sql, and $1 to $10 mean the same as there.
-- Guard: none, it only reads. Index: none, the tables are small.
select g.job, g.level, g.name, g.mode, g.since, g.until is not null as past, null::smallint as priority, null::text[] as locks, null::text[] as reasons,
       null as type, null as args, null as key, null::jsonb as vars, null as run_on, null as submitted_by, null as share, null as agent
  from bellhop.lock_grant g
 where g.mode <> 'kept'
union all
-- Locks that running jobs wait for are kept from ready jobs.
select w.job, w.level, w.name, w.mode, w.since, false, null, null, null, null, null, null, null, null, null, null, null
  from bellhop.lock_waiting w
union all
select j.id, '', '', 'reserved', j.created_at, false, j.priority, j.locks, j.reasons, j.type,
       case when a.asked then j.args end, case when a.asked then j.key end, case when a.asked then j.vars end, j.run_on, j.submitted_by, j.share, h.agent
  from bellhop.lock_reserved r
 cross join lateral (select * from bellhop.lockable_row l where l.id = r.job limit 1) j
 cross join lateral (select j.type = any ($9::text[]) or exists (select from bellhop.filter)) a (asked) -- by templates, or by filters
  left join lateral (
    select u.type from unnest($2::text[], $5::bool[], $10::smallint[]) as u (type, placed, worst)
     where case when u.type <> 'rjm' then u.type = j.type
                else j.type <> all ($2::text[]) and j.type not in ('command', 'dummy') and ($4::text is null or j.type ~ $4::text)
                     and exists (select from bellhop.rjm m where m.job = j.id) end
       and j.priority <= u.worst
       and case when j.run_on is null then not u.placed else j.run_on = any ($3::text[]) end
       and ($6 or j.msq is null)
       and ($7::text is null and $8::int[] is null or j.priority = any ($8) or j.priority_name ~ $7)
       and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[j.type, ''])
     limit 1) h (agent) on true
