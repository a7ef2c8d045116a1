-- Frees what instances hold that are gone: a claim can be under way in the very moment its instance is buried.
-- Guard: no live instance of that id. Index: jobqueue_taken, as many rows as run everywhere.
with freed as (
update bellhop.jobqueue j
   set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
       error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else j.error end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null, waiting_for = null
 where j.state in ('assigned', 'running')
   and not exists (select 1 from bellhop.instance i where i.id = j.instance and i.state = 'live')
returning j.id, j.state
)
select id from freed
union all
select 0 where bellhop.ended(array(select id from freed where state in ('cancelled', 'failed'))) > 0
