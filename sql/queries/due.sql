-- What the clock has made ready; at most 1000 a call. Index: jobqueue_parked.
update bellhop.jobqueue j
   set state = 'ready', waiting_for = null, run_at = case when j.attempt > 0 then null else j.run_at end
 where j.id = any (array(
         select d.id from bellhop.jobqueue d
          where d.state = 'scheduled' and not d.held and d.run_at <= clock_timestamp()
          order by d.run_at limit 1000 for update skip locked))
returning j.id
