-- The first jobs with locks that a pass has to look at: the first $11 of each type, in (priority, id).
-- $1 instance, $2 types, $3 the names the host answers to in run_on, $5 of which types only jobs that name a place,
-- $6 whether MSQ jobs are wanted too, $7 and $8 what the host takes: names of priorities, and priorities (both NULL: all),
-- $9 types whose agents add locks, $10 of each type only jobs up to this priority: items of more urgent queries come
-- before the others; $4 a pattern for the types of RJM's jobs (NULL: every one). The type rjm stands for every type of
-- RJM's jobs that the call does not also name, as in claim_only.sql; the last column is the type whose room a job
-- takes.
-- Guard: lockable, not paused, behind no lock. Index: jobqueue_locked, one range for each type, and for rjm one probe a type.
with recursive ripe as (
  (select j.type from bellhop.jobqueue j
    where 'rjm' = any ($2::text[]) and coalesce(j.behind, '') = '' and j.state = 'ready' and not j.held and j.locks is not null order by j.type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j
           where coalesce(j.behind, '') = '' and j.state = 'ready' and not j.held and j.locks is not null and j.type > ripe.type order by j.type limit 1)
    from ripe where ripe.type is not null
), d as (
  select u.type, u.placed, u.worst, u.type as agent from unnest($2::text[], $5::bool[], $10::smallint[]) as u (type, placed, worst) where u.type <> 'rjm'
  union all
  select ripe.type, u.placed, u.worst, 'rjm' from unnest($2::text[], $5::bool[], $10::smallint[]) as u (type, placed, worst), ripe
   where u.type = 'rjm' and ripe.type <> all ($2::text[]) and ripe.type not in ('command', 'dummy') and ($4::text is null or ripe.type ~ $4::text)
)
select q.id, q.type, q.priority, q.created_at, q.locks, q.reasons, case when a.asked then q.args end, case when a.asked then q.key end,
       case when a.asked then q.vars end, q.run_on, q.submitted_by, q.share, d.agent
  from d
 cross join lateral (
   select l.id, l.type, l.priority, l.created_at, l.locks, l.reasons, l.args, l.key, l.vars, l.run_on, l.submitted_by, l.share
     from bellhop.lockable l
    where l.behind = '' and l.type = d.type and l.priority <= d.worst
      and case when l.run_on is null then not d.placed else l.run_on = any ($3::text[]) end
      and ($6 or l.msq is null)
      and (d.agent = l.type or exists (select from bellhop.rjm m where m.job = l.id))
      and ($7::text is null and $8::int[] is null or l.priority = any ($8) or l.priority_name ~ $7)
    order by l.priority, l.id
    limit $11) q
 cross join lateral (select q.type = any ($9::text[]) or exists (select from bellhop.filter)) a (asked) -- by templates, or by filters
 where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[d.type, ''])
