-- The types, of these, with a waiting job for one host that no other transaction has locked. $1 types, $2 the names
-- that the host answers to in run_on. It locks one job of each for a moment. Indexes: jobqueue_ready; jobqueue_pinned,
-- jobqueue_shared.
select t.type
  from unnest($1::text[]) as t (type)
 where exists (select from (
   select r.id
     from bellhop.startable r
    where r.type = t.type and r.run_on is null
    order by r.priority, r.id
    limit 1
      for no key update skip locked) anywhere)
    or exists (select
     from unnest($2::text[]) as n (name)
    cross join lateral (
      select r.id
        from bellhop.startable r
       where r.type = t.type and r.run_on = n.name
       order by r.priority, r.id
       limit 1
         for no key update skip locked) here)
    or exists (select
     from unnest(array_append($2::text[], '')) as n (name)
    cross join lateral (
      select r.id
        from bellhop.shareable r
       where r.type = t.type and r.place = n.name
       order by r.priority, r.share, r.id
       limit 1
         for no key update skip locked) here)
