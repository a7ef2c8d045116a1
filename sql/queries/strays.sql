-- Frees what instances hold that are gone: a claim can be under way in the very moment its instance is buried.
-- Guard: no live instance of that id. Index: jobqueue_taken, as many rows as run everywhere.
update bellhop.jobqueue j
   set state = case when j.cancel_requested then 'cancelled' else 'ready' end,
       ended_at = case when j.cancel_requested then clock_timestamp() end,
       attempt = j.attempt - 1, instance = null, host = null, attempt_at = null, waiting_for = null
 where j.state in ('assigned', 'running')
   and not exists (select 1 from bellhop.instance i where i.id = j.instance and i.state = 'live')
returning j.id
