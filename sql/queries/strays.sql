-- Frees what instances hold that are gone: a claim can be under way in the very moment its instance is buried.
-- Guard: no live instance of that id; looked up once, for a join would not be looked at again for a row that a live
-- instance has just claimed, and an instance that has registered meanwhile has a higher id.
-- Index: jobqueue_taken, as many rows as run everywhere. One that somebody has in hand is left to the next round.
with freed as (
update bellhop.jobqueue j
   set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
       error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null, waiting_for = null,
       items_total = null, items_done = null, items_failed = null
 where j.id = any (array(
         select s.id from bellhop.jobqueue s
          where s.state in ('assigned', 'running')
            and coalesce(s.instance, 0) <> all (array(select i.id from bellhop.instance i where i.state = 'live'))
            and coalesce(s.instance, 0) <= (select coalesce(max(i.id), 0) from bellhop.instance i)
            for no key update skip locked))
returning j.id, j.state
)
select id from freed
union all
select 0 where bellhop.ended(array(select id from freed where state in ('cancelled', 'failed'))) > 0
