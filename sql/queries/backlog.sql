-- The waiting jobs of several types for one host: how many, counted no further than $3, and the priority of the most
-- urgent. $1 types, $2 the names that the host answers to in run_on. Jobs that no claim would take (startable) do not
-- count.
-- Index: jobqueue_ready, the head of one range for each type; jobqueue_pinned, jobqueue_shared, one for each type and name.
select t.type, count(*)::int, min(x.priority)::int
  from unnest($1::text[]) as t (type)
 cross join lateral (
   (select r.priority
      from bellhop.startable r
     where r.type = t.type and r.run_on is null
     order by r.priority, r.id
     limit $3)
   union all
   (select here.priority
      from unnest($2::text[]) as n (name)
     cross join lateral (
       select r.priority
         from bellhop.startable r
        where r.type = t.type and r.run_on = n.name
        order by r.priority, r.id
        limit $3) here)
   union all
   (select r.priority
      from bellhop.shareable r
     where r.type = t.type and r.place = ''
     order by r.priority
     limit $3)
   union all
   (select here.priority
      from unnest($2::text[]) as n (name)
     cross join lateral (
       select r.priority
         from bellhop.shareable r
        where r.type = t.type and r.place = n.name
        order by r.priority
        limit $3) here)) x
 group by t.type
