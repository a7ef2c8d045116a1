-- Dependencies that somebody has to look at; $1 how many jobs at the most. Nothing where there are none. Index: dependency_uncounted.
select l.looked, l.more
  from (select exists (select from bellhop.dependency d where not d.counted) as any_) x
 cross join lateral bellhop.look_again($1) l
 where x.any_
