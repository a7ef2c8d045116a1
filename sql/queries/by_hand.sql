-- Rows whose held or run_at was changed by hand get the state that follows; normally there are none. Index: jobqueue_parked.
-- One that somebody has in hand is left to the next round.
update bellhop.jobqueue j
   set state = case when j.unmet is not null then 'blocked' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
 where j.id = any (array(
         select k.id from bellhop.jobqueue k
          where k.id = any (array(
                  select h.id from bellhop.jobqueue h where h.state = 'held' and not h.held
                  union all
                  select s.id from bellhop.jobqueue s where s.state = 'scheduled' and not s.held and s.run_at is null))
            and ((k.state = 'held' and not k.held) or (k.state = 'scheduled' and k.run_at is null))
            for no key update skip locked))
returning j.id
