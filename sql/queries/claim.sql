-- Claims as many ready jobs as one host has room for, in (priority, id) within each type.
-- $1 instance, $2 host, $3 types, $4 how many of each type a child takes at once,
-- $5 how many of each type at the most, $6 how many in all, $7 the names this host answers to in run_on,
-- $8 the worst priority of each type that may start, $9 whether MSQ jobs are wanted too.
-- Guard: state = 'ready', not held, due; locked rows are somebody else's.
-- Index: jobqueue_ready (type, priority, id), one range for each type.
with picked as materialized (
  select c.id, c.priority, c.at_once
    from unnest($3::text[], $4::int[], $5::int[], $8::int[]) as d (type, at_once, most, worst)
   cross join lateral (
     select q.id, q.priority, row_number() over (order by q.priority, q.id) <= d.at_once as at_once
       from (select j.id, j.priority
               from bellhop.jobqueue j
              where j.type = d.type and j.state = 'ready' and not j.held
                and j.priority <= d.worst
                and ($9 or j.msq is null)
                and (j.run_at is null or j.run_at <= clock_timestamp())
                and (j.run_on is null or j.run_on = any ($7::text[]))
              order by j.priority, j.id
              limit d.most
                for update skip locked) q
   ) c
   -- One that was taken for dead, and does not know it yet, must not take what nobody would free.
   where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live')
), chosen as materialized (
  select id, at_once from picked order by at_once desc, priority, id limit $6
)
update bellhop.jobqueue j
   set state      = case when j.id = any (array(select id from chosen where not at_once)) then 'assigned' else 'running' end,
       instance   = $1,
       host       = $2,
       fence      = j.fence + 1,
       attempt    = j.attempt + 1,
       attempt_at = case when j.started_at is not null then clock_timestamp() end,
       started_at = coalesce(j.started_at, case when j.id = any (array(select id from chosen where at_once)) then clock_timestamp() end),
       waiting_for = case when j.id = any (array(select id from chosen where not at_once)) then 'child_starting' end
 where j.id = any (array(select id from chosen))
returning j.id, j.fence, j.attempt, j.priority, j.type, j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
          coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, j.max_attempts, j.deaths,
          j.state = 'assigned'
