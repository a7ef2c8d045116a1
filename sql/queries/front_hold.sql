-- A job that has not started does not start until it is released; its moment is over then. $1 id. Returns its state
-- now, or the state for which this came too late.
-- Guard: it waits. Index: the primary key.
with held as (
  update bellhop.jobqueue j set held = true, state = 'held', waiting_for = null,
         run_at = case when j.waiting_for = 'fossology_grace' then null else j.run_at end
   where j.id = $1 and j.state in ('held', 'blocked', 'scheduled', 'ready')
  returning j.state
)
select coalesce((select h.state from held h), j.state) from bellhop.jobqueue j where j.id = $1
