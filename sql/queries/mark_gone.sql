-- An instance is proven dead: its jobs are ready again, and none of its runs was an attempt.
-- $1 the dead instance, $2 why, $3 true: its process is known to be gone; false: only if it is still silent (suspects.sql).
-- Guard: it still counts as live. Index: the primary key; jobqueue_taken; era_now's primary key.
-- Runs that had begun are kept among the lost runs, the newest 20 of a job. Index there: lost_run's primary key.
-- A job that another transaction has locked does not hold this up: it is a stray then (orphaned_claims.sql).
with dead as (
  update bellhop.instance i
     set state = 'gone', gone_at = clock_timestamp(), gone_because = $2
   where i.id = $1 and i.state = 'live' and ($3 or i.heartbeat_at < clock_timestamp() - i.lag
     and exists (select from bellhop.era_now e where e.floor = 0 or e.began_at < clock_timestamp() - i.lag))
  returning i.id
), children as (
  delete from bellhop.child c using dead where c.instance = dead.id
), asserted as (
  delete from bellhop.asserted a using dead where a.instance = dead.id
), held as materialized (
  select h.id, h.host, h.instance, coalesce(h.attempt_at, h.started_at) as began, h.state = 'running' as ran
    from bellhop.jobqueue h, dead
   where h.instance = dead.id and h.state in ('assigned', 'running')
     for no key update of h skip locked
), freed as (
  update bellhop.jobqueue j
     set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
         error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
         ended_at = case when j.cancel_requested then clock_timestamp() end,
         attempt = j.attempt - 1, instance = null, host = null, attempt_at = null,
         items_total = null, items_done = null, items_failed = null, progress = null, progress_text = null,
         waiting_for = null, lost = j.lost + (j.state = 'running')::int
   where j.id = any (array(select h.id from held h))
  returning j.id, j.state, j.fence, j.attempt + 1 as attempt, j.lost as n, j.spawned_at
), kept as (
  insert into bellhop.lost_run (job, n, attempt, fence, host, instance, spawned_at, started_at, reason)
  select f.id, f.n, f.attempt, f.fence, h.host, h.instance, f.spawned_at, h.began, 'its instance ' || h.instance || ' is gone: ' || $2
    from freed f join held h on h.id = f.id where h.ran
  on conflict do nothing
), trimmed as (
  delete from bellhop.lost_run l
   using freed f
   where l.job = any (array(select t.id from freed t where t.n > 20)) and l.job = f.id and l.n <= f.n - 20
), told as (
  insert into bellhop.log (job, attempt, level, line)
  select f.id, f.attempt, 'note', 'the scheduler that ran this (instance ' || $1 || ') is gone: ' || $2 || '; not counted as an attempt'
    from freed f
)
select (select count(*) from dead), (select count(*) from freed)
 where bellhop.ended(array(select id from freed where state in ('cancelled', 'failed'))) >= 0
   and (select count(pg_notify('bellhop_due', '')) from dead) >= 0 -- other instances may have its workflows now
