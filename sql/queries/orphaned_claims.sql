-- Frees jobs of instances that are gone: a claim can be under way at the very moment at which its instance is buried.
-- Guard: no live instance with that id. The list of live instances is read once, as an array: a join would be
-- re-checked against the statement's old snapshot, and free a row that a live instance claimed a moment ago. An
-- instance that registers in between has a higher id than max(id) and is left alone.
-- Index: jobqueue_taken, as many rows as run everywhere. A row that another transaction has locked is left to the next
-- round.
-- Runs that had begun are kept among the lost runs and reported, the newest 20 of a job. Index there: lost_run's
-- primary key.
with held as materialized (
  select s.id, s.host, s.instance, coalesce(s.attempt_at, s.started_at) as began, s.state = 'running' as ran
    from bellhop.jobqueue s
   where s.state in ('assigned', 'running')
     and s.instance is distinct from 0 -- a worker's: expire_leases
     and coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i where i.state = 'live'))
     and coalesce(s.instance, 0) <= (select coalesce(max(i.id), 0) from bellhop.instance i)
     for no key update skip locked
), freed as (
update bellhop.jobqueue j
   set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
       error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null, waiting_for = null,
       items_total = null, items_done = null, items_failed = null, progress = null, progress_text = null, lost = j.lost + (j.state = 'running')::int
 where j.id = any (array(select h.id from held h))
returning j.id, j.state, j.fence, j.attempt + 1 as attempt, j.lost as n, j.spawned_at
), kept as (
  insert into bellhop.lost_run (job, n, attempt, fence, host, instance, spawned_at, started_at, reason)
  select f.id, f.n, f.attempt, f.fence, h.host, h.instance, f.spawned_at, h.began, 'its instance' || coalesce(' ' || h.instance, '') || ' is gone'
    from freed f join held h on h.id = f.id where h.ran
  on conflict do nothing
), told as (
  insert into bellhop.log (job, attempt, level, line)
  select f.id, f.attempt, 'note', 'lost: its instance' || coalesce(' ' || h.instance, '') || ' is gone, given back; not counted as an attempt'
    from freed f join held h on h.id = f.id where h.ran
), trimmed as (
  delete from bellhop.lost_run l
   using freed f
   where l.job = any (array(select t.id from freed t where t.n > 20)) and l.job = f.id and l.n <= f.n - 20
)
select id from freed
union all
select 0 where bellhop.ended(array(select id from freed where state in ('cancelled', 'failed'))) > 0
