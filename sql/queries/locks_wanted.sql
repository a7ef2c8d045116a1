-- The first jobs with locks that a pass has to look at: the first $4 of each type, in (priority, id).
-- $1 instance, $2 types, $3 the names the host answers to in run_on, $5 of which types only jobs that name a place,
-- $6 whether MSQ jobs are wanted too, $7 and $8 what the host takes: names of priorities, and priorities (both NULL: all),
-- $9 types whose agents say which locks their jobs need, $10 of each type only jobs up to this priority: items of more urgent
-- queries come before the others.
-- Guard: lockable, not paused, behind no lock. Index: jobqueue_locked, one range for each type.
select q.id, q.type, q.priority, q.created_at, q.locks, q.reasons, case when a.asked then q.args end, case when a.asked then q.key end,
       case when a.asked then q.vars end, q.run_on, q.submitted_by
  from unnest($2::text[], $5::bool[], $10::smallint[]) as d (type, placed, worst)
 cross join lateral (
   select l.id, l.type, l.priority, l.created_at, l.locks, l.reasons, l.args, l.key, l.vars, l.run_on, l.submitted_by
     from bellhop.lockable l
    where l.behind = '' and l.type = d.type and l.priority <= d.worst
      and case when l.run_on is null then not d.placed else l.run_on = any ($3::text[]) end
      and ($6 or l.msq is null)
      and ($7::text is null and $8::int[] is null or l.priority = any ($8) or l.priority_name ~ $7)
    order by l.priority, l.id
    limit $4) q
 cross join lateral (select q.type = any ($9::text[]) or exists (select from bellhop.filter)) a (asked) -- by templates, or by filters
 where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[d.type, ''])
