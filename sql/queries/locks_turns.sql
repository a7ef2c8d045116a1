-- The next jobs with shares of these types ($10) and priorities ($11), at most $13 of each, with their place in the
-- order of turns; $12 the types whose room they take. $1 to $9 mean the same as in locks_wanted.sql.
-- Guard: lockable, not paused, behind no lock. Index: those of lock_turns; the primary key.
select l.id, l.type, l.priority, l.created_at, l.locks, l.reasons, case when a.asked then l.args end, case when a.asked then l.key end,
       case when a.asked then l.vars end, l.run_on, l.submitted_by, l.share, d.agent, o.place
  from unnest($10::text[], $11::smallint[], $12::text[]) as d (type, priority, agent)
 cross join lateral bellhop.lock_turns('', d.type, d.priority, $13) o
 cross join lateral (select * from bellhop.lockable_row r where r.id = o.id limit 1) l
 cross join lateral (select l.type = any ($9::text[]) or exists (select from bellhop.filter)) a (asked)
 where case when l.run_on is null then not exists (select from unnest($2::text[], $5::bool[]) as u (type, placed) where u.type = d.agent and u.placed)
            else l.run_on = any ($3::text[]) end
   and ($6 or l.msq is null)
   and (d.agent = l.type or exists (select from bellhop.rjm m where m.job = l.id))
   and ($4::text is null or d.agent = l.type or l.type ~ $4::text)
   and ($7::text is null and $8::int[] is null or l.priority = any ($8) or l.priority_name ~ $7)
   and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[d.type, ''])
