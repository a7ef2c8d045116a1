-- Jobs that have not begun by their not_after, at most $1: how many, and how long until the next, in ms. Also
-- dependencies that are not counted, of at most $2 jobs, events and jobs that may not have seen each other, and keys of
-- shares that are not in their line (bellhop.find_shares): how many, and whether there are more. Indexes: deadline_at,
-- then the primary key; dependency_uncounted, emitted_uncounted, awaits_uncounted.
select e.expired, e.next_ms, coalesce(l.looked, 0) + coalesce(w.n, 0) + bellhop.find_shares(), coalesce(l.more, false) or coalesce(w.more, false)
  from bellhop.expire($1) e
  left join lateral (
    select a.looked, a.more
      from (select exists (select from bellhop.dependency d where not d.counted) as any_) x
     cross join lateral bellhop.look_again($2) a
     where x.any_) l on true
  left join lateral (
    select f.n, f.more
      from (select exists (select from bellhop.awaits a where not a.counted) or exists (select from bellhop.emitted m where not m.counted) as any_) x
     cross join lateral bellhop.look_for_events($2) f
     where x.any_) w on true
