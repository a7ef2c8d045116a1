-- The names in run_on of ready jobs, behind ($1 type, $2 name), at most $3. One index probe each.
-- Index: jobqueue_pinned; jobqueue_locked.
with recursive p as (
  (select type, run_on, 1 as n from bellhop.jobqueue
    where state = 'ready' and not held and run_on is not null and locks is null and (type, run_on) > ($1::text, $2::text) order by type, run_on limit 1)
  union all
  select f.type, f.run_on, p.n + 1
    from p
   cross join lateral (
     select j.type, j.run_on from bellhop.jobqueue j
      where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and (j.type, j.run_on) > (p.type, p.run_on)
      order by j.type, j.run_on limit 1) f
   where p.n < $3
)
select k.type, k.run_on
  from (select p.type, p.run_on from p
        union
        select l.type, l.run_on -- of the first jobs with locks
          from (select j.type, j.run_on from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
                 order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1000) l
         where l.run_on is not null and (l.type, l.run_on) > ($1::text, $2::text)) k
 order by k.type, k.run_on
 limit $3
