-- What waits for the moment that a row has which came through FOSSology's view, and for nothing else: it may start now.
-- Guard: it has not started. Index: jobqueue_parked.
update bellhop.jobqueue j
   set state = 'ready', run_at = null, waiting_for = null
 where j.id = any (array(
         select d.id from bellhop.jobqueue d
          where d.state = 'scheduled' and not d.held and d.waiting_for = 'fossology_grace'
          order by d.run_at limit 10000 for update skip locked))
