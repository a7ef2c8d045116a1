-- Claims ready jobs of several types, or jobs whose children have to come up first, in (priority, id) within each type;
-- of all together the first $8, in (priority, turn of the type, id). Assigned ($9): their start is written when a child
-- has taken them; else they run from now on.
-- $1 instance, $2 host, $3 types, $4 how many of each type at the most, $5 the names this host answers to in run_on,
-- $6 the worst priority of each type that may start, $7 whether MSQ jobs are wanted too, $8 how many in all, $9 assigned,
-- $10 types that would come up if there were room: nothing less urgent than their jobs starts;
-- $11 of which types only jobs that name a place; $12 the era's floor; $13 the turn of each type.
-- Guard: as in claim.sql. Index: jobqueue_ready (type, priority, id), one range for each type; jobqueue_pinned, one for
-- each type and name; the primary key.
with rival as materialized (
  select coalesce(min(x.priority), 19) as best
    from unnest($10::text[]) as t (type)
   cross join lateral (
     (select r.priority
        from bellhop.startable r
       where r.type = t.type and r.run_on is null
       order by r.priority, r.id
       limit 1)
     union all
     (select here.priority
        from unnest($5::text[]) as n (name)
       cross join lateral (
         select r.priority
           from bellhop.startable r
          where r.type = t.type and r.run_on = n.name
          order by r.priority, r.id
          limit 1) here)) x
),
picked as materialized (
  select q.id, q.priority, d.turn
   from unnest($3::text[], $4::int[], $6::int[], $11::bool[], $13::int[]) as d (type, most, worst, placed, turn)
  cross join lateral (
    select x.id, x.priority
      from (select * from (
              select r.id, r.priority
                from bellhop.startable r
               where not d.placed and r.type = d.type
                 and r.run_on is null
                 and r.priority <= least(d.worst, (select best from rival))
                 and ($7 or r.msq is null)
               order by r.priority, r.id
               limit d.most
                 for update skip locked) anywhere
            union all
            select here.id, here.priority
              from unnest($5::text[]) as n (name)
             cross join lateral (
              select r.id, r.priority
                from bellhop.startable r
               where r.type = d.type
                 and r.run_on = n.name
                 and r.priority <= least(d.worst, (select best from rival))
                 and ($7 or r.msq is null)
               order by r.priority, r.id
               limit d.most
                 for update skip locked) here) x
     order by x.priority, x.id
     limit d.most) q
  where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[d.type, ''])
    and ((select true from bellhop.jobqueue s where s.type = d.type and s.share is not null and s.state = 'ready' and not s.held and s.locks is null
           order by s.type, coalesce(s.run_on, ''), s.priority, s.share, s.id limit 1) is null
      or bellhop.tell_shares(d.type))
)
update bellhop.jobqueue j
   set state      = case when $9 then 'assigned' else 'running' end,
       instance   = $1,
       host       = $2,
       fence      = greatest(j.fence + 1, $12::bigint),
       attempt    = j.attempt + 1,
       attempt_at = case when j.started_at is not null then clock_timestamp() end,
       spawned_at = null,
       started_at = coalesce(j.started_at, case when not $9 then clock_timestamp() end),
       waiting_for = case when $9 then 'child_starting' end
 where j.id = any (array(select id from picked order by priority, turn, id limit $8))
returning j.id, j.fence, j.attempt, j.priority, j.type, j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
          coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
          case when j.msq is not null then coalesce(j.run_on, '') else '' end,
          j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
