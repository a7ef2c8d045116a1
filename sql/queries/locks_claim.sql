-- Claims the jobs that a pass has chosen, with their locks.
-- $1 instance, $2 host, $3 ids, $4 assigned; their locks: $5 the job, $6 level, $7 name, $8 mode, $9 for how many ms
-- the start counts, however the job ends (0: while it runs), $10 the type whose room each of $3 takes (NULL: its own),
-- $11 the era's floor.
-- Guard: still lockable; locked rows belong to other transactions. The instance lives: the pass has checked that.
-- Index: the primary keys.
with picked as materialized (
  select l.id from bellhop.lockable_row l where l.id = any ($3::bigint[]) for update skip locked
), taken as (
  update bellhop.jobqueue j
     set state      = case when $4 then 'assigned' else 'running' end,
         instance   = $1,
         host       = $2,
         fence      = greatest(j.fence + 1, $11::bigint),
         attempt    = j.attempt + 1,
         attempt_at = case when j.started_at is not null then clock_timestamp() end,
         spawned_at = null,
         behind     = null, -- it may have been reserved, and never had a turn
         started_at = coalesce(j.started_at, case when not $4 then clock_timestamp() end),
         waiting_for = case when $4 then 'child_starting' end
   where j.id = any (array(select p.id from picked p))
     and exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live')
  returning j.*
), held as (
  insert into bellhop.lock_grant (level, name, job, fence, mode, instance, until)
  select w.level, w.name, t.id, t.fence, w.mode, $1, clock_timestamp() + nullif(w.ms, 0) * interval '1 ms'
    from taken t
    join unnest($5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[]) as w (job, level, name, mode, ms) on w.job = t.id
  on conflict (level, name, job) do update
     set fence = excluded.fence, mode = excluded.mode, instance = excluded.instance, until = excluded.until, rests = false,
         since = case when lock_grant.rests then lock_grant.since else clock_timestamp() end
), kept as ( -- and what it asked for in a run that kept its locks
  update bellhop.lock_grant g set fence = t.fence, instance = $1, rests = false
    from taken t
   where g.job = t.id and g.rests
     and not exists (select from unnest($5::bigint[], $6::text[], $7::text[]) as w (job, level, name) where w.job = g.job and w.level = g.level and w.name = g.name)
)
select j.id, j.fence, j.attempt, j.priority, coalesce(($10::text[])[array_position($3::bigint[], j.id)], j.type), j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
       coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
       case when j.msq is not null then coalesce(j.run_on, '') else '' end,
       j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
  from taken j
