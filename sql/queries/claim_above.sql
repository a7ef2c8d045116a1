-- Claims as claim.sql does, but only rows that a snapshot did not show: those of transactions that began after it, or
-- were under way. It is for times when old index entries cannot be cleaned away: claim.sql would walk all of them for
-- every job.
-- $1 instance, $2 host, $3 types, $4 how many of each type at the most, $5 how many in all, $6 the snapshot's xmax,
-- $7 its transactions under way, $8 the era's floor, $9 and $10 the priority and id up to which it looks.
-- Guard: as in claim.sql. Rows that became ready again are not found here, whatever transaction inserted them: see
-- scheduler/position/horizon.go.
-- Index: jobqueue_floor (txid, type), for each type one range above the snapshot and one for each transaction; the primary key.
-- It repeats the conditions of bellhop.startable. "held is not true" and num_nulls() mean the same as the words of
-- claim.sql, and the planner does not recognise them: with statistics from a time when nothing was ready,
-- jobqueue_ready, with all its dead entries, would look as good as jobqueue_floor.
with picked as materialized (
  select q.id, q.priority
    from unnest($3::text[], $4::int[]) as d (type, most)
   cross join lateral (
     select x.id, x.priority
       from (select * from (
               select r.id, r.priority
                 from bellhop.jobqueue r
                where r.type = d.type and r.txid >= $6::text::xid8 and r.txid > '0' and r.state = 'ready' and r.held is not true and num_nulls(r.run_on) = 1
                  and r.unmet is null and r.locks is null and r.share is null
                  and (not exists (select from bellhop.dependency where not counted)
                    or not exists (select from bellhop.dependency d where d.job = r.id and not d.counted))
                  and (r.run_at is null or r.run_at <= clock_timestamp())
                  and (r.not_after is null or r.not_after > clock_timestamp())
                  and (r.priority, r.id) <= ($9::smallint, $10::bigint)
                order by r.priority, r.id
                limit d.most
                  for update skip locked) later
             union all
             select here.id, here.priority
               from unnest($7::text[]) as t (xid)
              cross join lateral (
               select r.id, r.priority
                 from bellhop.jobqueue r
                where r.type = d.type and r.txid = t.xid::xid8 and r.txid > '0' and r.state = 'ready' and r.held is not true and num_nulls(r.run_on) = 1
                  and r.unmet is null and r.locks is null and r.share is null
                  and (not exists (select from bellhop.dependency where not counted)
                    or not exists (select from bellhop.dependency d where d.job = r.id and not d.counted))
                  and (r.run_at is null or r.run_at <= clock_timestamp())
                  and (r.not_after is null or r.not_after > clock_timestamp())
                  and (r.priority, r.id) <= ($9::smallint, $10::bigint)
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
   set state      = 'running',
       instance   = $1,
       host       = $2,
       fence      = greatest(j.fence + 1, $8::bigint),
       attempt    = j.attempt + 1,
       attempt_at = case when j.started_at is not null then clock_timestamp() end,
       spawned_at = null,
       started_at = coalesce(j.started_at, clock_timestamp()),
       waiting_for = null
 where j.id = any (array(select id from picked order by priority, id limit $5))
returning j.id, j.fence, j.attempt, j.priority, j.type, j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
          coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
          case when j.msq is not null then coalesce(j.run_on, '') else '' end,
          j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
