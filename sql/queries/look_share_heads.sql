-- The keys of each type that matter now: at most $1 of each type, those with the most running jobs first, then those
-- with the most that wait. keys: how many of the type have either. Of a type, 200 keys with ready jobs without locks
-- are looked at, of all types 400, and of each key 1,000 jobs are counted: it is for a view that looks every second,
-- and without shares it finds one empty index and the running jobs. Guard: none, it only reads; readers only. Indexes:
-- jobqueue_shared, one probe for each key; jobqueue_taken; share's primary key.
with recursive k as (
  (select j.type, coalesce(j.run_on, '') as place, j.priority, j.share, 1 as n from bellhop.every_job j
    where j.share is not null and j.state = 'ready' and not j.held and j.locks is null
    order by j.type, coalesce(j.run_on, ''), j.priority, j.share limit 1)
  union all
  select x.type, x.place, x.priority, x.share, case when x.type = k.type then k.n + 1 else 1 end
    from k cross join lateral (
      (select j.type, coalesce(j.run_on, '') as place, j.priority, j.share from bellhop.every_job j
        where k.n < 200 and j.share is not null and j.state = 'ready' and not j.held and j.locks is null
          and (j.type, coalesce(j.run_on, ''), j.priority, j.share) > (k.type, k.place, k.priority, k.share)
        order by j.type, coalesce(j.run_on, ''), j.priority, j.share limit 1)
      union all
      (select j.type, coalesce(j.run_on, ''), j.priority, j.share from bellhop.every_job j
        where k.n = 200 and j.share is not null and j.state = 'ready' and not j.held and j.locks is null and j.type > k.type
        order by j.type, coalesce(j.run_on, ''), j.priority, j.share limit 1)) x
), ready as (
  select f.type, f.share, sum(c.n)::bigint as n
    from (select k.type, k.place, k.priority, k.share from k limit 400) f
   cross join lateral (select count(*) as n from (
      select from bellhop.every_job j where j.share is not null and j.state = 'ready' and not j.held and j.locks is null
         and j.type = f.type and coalesce(j.run_on, '') = f.place and j.priority = f.priority and j.share = f.share limit 1000) o) c
   group by f.type, f.share
), running as (
  select j.type, j.share, count(*) as n from bellhop.every_job j
   where j.state in ('assigned', 'running') and j.share is not null group by j.type, j.share
), ranked as (
  select type, share as name, coalesce(a.n, 0) as waiting, coalesce(b.n, 0) as running,
         row_number() over (partition by type order by coalesce(b.n, 0) desc, coalesce(a.n, 0) desc, share) as place,
         count(*) over (partition by type) as keys
    from ready a full join running b using (type, share)
)
select r.type, r.name, coalesce(s.weight, 1) as weight, r.waiting, r.running, r.keys
  from ranked r left join bellhop.share s on s.type = r.type and s.name = r.name
 where r.place <= $1::bigint order by r.type, r.place
