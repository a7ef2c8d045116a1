-- Says why the first jobs of a type do not start. $1 type, $2 why (NULL: nothing holds them any more).
-- 1000 rows are enough to look at: they are those that would start next. None is locked but those that change, so that
-- a claim never has to skip one. Index: jobqueue_ready.
update bellhop.jobqueue j
   set waiting_for = $2
 where j.id = any (array(
         select d.id
           from (select id, waiting_for from bellhop.jobqueue
                  where type = $1 and state = 'ready' and not held
                  order by priority, id limit 1000) d
          where d.waiting_for is distinct from $2))
   and j.state = 'ready' and j.waiting_for is distinct from $2
