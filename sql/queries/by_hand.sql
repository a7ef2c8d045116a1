-- Rows whose held or run_at was changed by hand get the state that follows; normally there are none. So do rows that
-- came ready while triggers were disabled, and are held or have a run_at in the future: at most 1,000 of each. These
-- are not counted, since they do not begin. Indexes: jobqueue_parked; jobqueue_unparked. A row that another transaction
-- has locked is left to the next round.
with parked as (
  update bellhop.jobqueue j
     set state = case when j.held then 'held' else 'scheduled' end, waiting_for = null
   where j.id = any (array(
           select k.id from bellhop.jobqueue k
            where k.id = any (array(
                    (select h.id from bellhop.jobqueue h where h.state = 'ready' and h.held limit 1000)
                    union all
                    (select s.id from bellhop.jobqueue s where s.state = 'ready' and not s.held and s.run_at > clock_timestamp() limit 1000)))
              and k.state = 'ready' and (k.held or k.run_at > clock_timestamp())
              for no key update skip locked))
)
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
