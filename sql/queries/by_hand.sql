-- Rows whose held or run_at was changed by hand get the state that follows. Index: jobqueue_by_hand, normally empty.
update bellhop.jobqueue j
   set state = case when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
 where (j.state = 'held' and not j.held) or (j.state = 'scheduled' and j.run_at is null)
returning j.id
