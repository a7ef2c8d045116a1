-- Claims as many ready jobs of one type as the children of one host that are up can take, in (priority, id). They run
-- from now on. This is the commonest statement, and a single job waits for it: it does as little as possible. Jobs that
-- name a place are left to claim_many.sql.
-- $1 instance, $2 host, $3 type, $4 how many at most, $5 the worst priority that may start, $6 whether MSQ jobs are
-- wanted too, $7 and $8 the priority and id to go on behind (scheduler/position/tail.go): rows before that are not
-- looked at, $9 the era's floor, which all fences exceed.
-- Guard: startable, not paused; locked rows belong to other transactions. An instance that was taken for dead, and does
-- not know it yet, must not take jobs: no other instance would free them.
-- Index: jobqueue_ready (type, priority, id); the primary key.
update bellhop.jobqueue j
   set state      = 'running',
       instance   = $1,
       host       = $2,
       fence      = greatest(j.fence + 1, $9::bigint),
       attempt    = j.attempt + 1,
       attempt_at = case when j.started_at is not null then clock_timestamp() end,
       spawned_at = null,
       started_at = coalesce(j.started_at, clock_timestamp()),
       waiting_for = null
 where j.id = any (array(
         select r.id
           from bellhop.startable r
          where r.type = $3
            and r.run_on is null
            and (r.priority, r.id) > ($7::smallint, $8::bigint)
            and r.priority <= $5
            and ($6 or r.msq is null)
          order by r.priority, r.id
          limit $4
            for update skip locked))
   and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live' and not i.paused && array[$3, ''])
   and ((select true from bellhop.jobqueue s where s.type = $3 and s.share is not null and s.state = 'ready' and not s.held and s.locks is null
           order by s.type, coalesce(s.run_on, ''), s.priority, s.share, s.id limit 1) is null
     or bellhop.tell_shares($3)) -- asked once, before rows are looked at
returning j.id, j.fence, j.attempt, j.priority, j.type, j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
          coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
          case when j.msq is not null then coalesce(j.run_on, '') else '' end,
          j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
