-- The names in run_on of ready jobs, behind ($1 type, $2 name), at most $3. One index probe each.
-- Index: jobqueue_pinned, jobqueue_shared; jobqueue_locked.
with recursive p as (
  (select type, run_on, 1 as n from bellhop.jobqueue
    where state = 'ready' and not held and run_on is not null and locks is null and share is null and (type, run_on) > ($1::text, $2::text) order by type, run_on limit 1)
  union all
  select f.type, f.run_on, p.n + 1
    from p
   cross join lateral (
     select j.type, j.run_on from bellhop.jobqueue j
      where j.state = 'ready' and not j.held and j.run_on is not null and j.locks is null and j.share is null and (j.type, j.run_on) > (p.type, p.run_on)
      order by j.type, j.run_on limit 1) f
   where p.n < $3
), s as (
  (select type, coalesce(run_on, '') as run_on, 1 as n from bellhop.jobqueue
    where share is not null and state = 'ready' and not held and locks is null and (type, coalesce(run_on, '')) > ($1::text, $2::text) order by type, coalesce(run_on, '') limit 1)
  union all
  select f.type, f.run_on, s.n + 1
    from s
   cross join lateral (
     select j.type, coalesce(j.run_on, '') as run_on from bellhop.jobqueue j
      where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and (j.type, coalesce(j.run_on, '')) > (s.type, s.run_on)
      order by j.type, coalesce(j.run_on, '') limit 1) f
   where s.n < $3
)
select k.type, k.run_on
  from (select p.type, p.run_on from p
        union
        select s.type, s.run_on from s where s.run_on <> ''
        union
        select l.type, l.run_on -- of the first jobs with locks
          from (select j.type, j.run_on from bellhop.jobqueue j where coalesce(j.behind, '') >= '' and j.state = 'ready' and not j.held and j.locks is not null
                 order by coalesce(j.behind, ''), j.type, j.priority, j.id limit 1000) l
         where l.run_on is not null and (l.type, l.run_on) > ($1::text, $2::text)) k
 order by k.type, k.run_on
 limit $3
