-- Jobs of types whose agents add locks ($1) are jobs with locks from now on: the first $2 of each, and of those with a
-- share the next in their turns. $3 the names that the host answers to in run_on. Guard: startable; the next pass looks
-- at locked rows. Index: jobqueue_ready, jobqueue_pinned, jobqueue_shared; the primary key.
update bellhop.jobqueue j
   set locks = '{}'
 where j.id = any (array(
         select q.id from unnest($1::text[]) as t (type)
          cross join lateral (
            select s.id from bellhop.startable s where s.type = t.type and s.run_on is null
             order by s.priority, s.id limit $2 for no key update skip locked) q
         union all
         select q.id from unnest($1::text[]) as t (type)
          cross join lateral (
            select s.id from bellhop.startable s where s.type = t.type and s.run_on is not null
             limit $2 for no key update skip locked) q
         union all
         select unnest(bellhop.pick_shared($1, array_fill($2::integer, array[cardinality($1)]), $3::text[],
                                           array_fill(20, array[cardinality($1)]), array_fill(false, array[cardinality($1)]),
                                           true, $2::integer * cardinality($1)))))
