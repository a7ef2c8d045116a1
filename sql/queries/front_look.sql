-- Rows that came through FOSSology's view and wait only for their moment may start now.
-- Guard: it has not started. Index: jobqueue_parked.
update bellhop.jobqueue j
   set state = 'ready', run_at = null, waiting_for = null
 where j.id = any (array(
         select d.id from bellhop.jobqueue d
          where d.state = 'scheduled' and not d.held and d.waiting_for = 'fossology_grace'
          order by d.run_at limit 10000 for update skip locked))
