-- claim_many.sql for a host that does not take all jobs of its types: it chooses by priority, or RJM's jobs by their
-- types. The type rjm stands for every type with ready RJM jobs that the call does not also name.
-- $1–$9 as there; $10 what the types of RJM's jobs must match (NULL: every one), $11 what priority_name must match, or
-- $12 the priorities that are taken (both NULL: every one), $13 of which types only jobs that name a place, $14 the era's floor,
-- $15 the turn of each type.
-- Guard: as in claim.sql. Index: jobqueue_ready, one probe for each type that has ready jobs and one range; jobqueue_pinned.
-- Ready jobs that are not taken are read past: only such hosts pay for that.
with recursive ripe as (
  (select r.type from bellhop.jobqueue r where 'rjm' = any ($3::text[]) and r.state = 'ready' and not r.held and r.run_on is null and r.locks is null and r.share is null order by r.type limit 1)
  union all
  select (select r.type from bellhop.jobqueue r where r.state = 'ready' and not r.held and r.run_on is null and r.locks is null and r.share is null and r.type > ripe.type order by r.type limit 1)
    from ripe where ripe.type is not null
), wanted as materialized (
  select d.type, d.most, d.worst, d.placed, d.turn, false as rjm
    from unnest($3::text[], $4::int[], $6::int[], $13::bool[], $15::int[]) as d (type, most, worst, placed, turn) where d.type <> 'rjm'
  union all
  select ripe.type, d.most, d.worst, d.placed, d.turn, true
    from unnest($3::text[], $4::int[], $6::int[], $13::bool[], $15::int[]) as d (type, most, worst, placed, turn), ripe
   where d.type = 'rjm' and ripe.type <> all ($3::text[]) and ripe.type not in ('command', 'dummy') and ($10::text is null or ripe.type ~ $10::text)
), picked as materialized (
  select q.id, q.priority, d.turn
   from wanted d
  cross join lateral (
    select x.id, x.priority
      from (select * from (
              select r.id, r.priority
                from bellhop.startable r
               where not d.placed and r.type = d.type
                 and r.run_on is null
                 and r.priority <= d.worst
                 and bellhop.takes($12::int[], $11::text, r.priority, r.priority_name)
                 and (not d.rjm or exists (select from bellhop.rjm m where m.job = r.id))
                 and ($7 or r.msq is null)
               order by r.priority, r.id
               limit d.most
                 for update of r skip locked) anywhere
            union all
            select here.id, here.priority
              from unnest($5::text[]) as n (name)
             cross join lateral (
              select r.id, r.priority
                from bellhop.startable r
               where r.type = d.type
                 and r.run_on = n.name
                 and r.priority <= d.worst
                 and bellhop.takes($12::int[], $11::text, r.priority, r.priority_name)
                 and (not d.rjm or exists (select from bellhop.rjm m where m.job = r.id))
                 and ($7 or r.msq is null)
               order by r.priority, r.id
               limit d.most
                 for update of r skip locked) here) x
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
       fence      = greatest(j.fence + 1, $14::bigint),
       attempt    = j.attempt + 1,
       attempt_at = case when j.started_at is not null then clock_timestamp() end,
       spawned_at = null,
       started_at = coalesce(j.started_at, case when not $9 then clock_timestamp() end),
       waiting_for = case when $9 then 'child_starting' end
 where j.id = any (array(select id from picked order by priority, turn, id limit $8))
returning j.id, j.fence, j.attempt, j.priority, case when j.type = any ($3::text[]) then j.type else 'rjm' end, j.args, j.msq, j.repeat,
          coalesce(j.key, ''), coalesce(j.vars::text, ''),
          coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
          case when j.msq is not null then coalesce(j.run_on, '') else '' end,
          j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
