-- How often jobs of each key have started since $3, by type: their newest starts, and the seconds of slots since then. $1 a
-- type (NULL: all), $2 how many rows of the queue are read. A key's jobs start in the order of their ids: so those that
-- started last stand before its first ready job, or, if it has none, before the newest row. Before each such place of up to
-- 50 keys the rows are read backwards, none twice; small gaps are read whole, and large ones get equal parts of what is left.
-- whole: no part of the queue that may tell of that time is left out. name is empty for jobs without a share.
-- At most 2,000 keys. Guard: none, it only reads; readers only. Indexes: jobqueue_shared, one probe for each key; the
-- primary key, backwards.
with recursive k as (
  (select j.type, coalesce(j.run_on, '') as place, j.priority, j.share, j.id, 1 as n from bellhop.every_job j
    where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and j.type >= coalesce($1::text, '')
    order by j.type, coalesce(j.run_on, ''), j.priority, j.share, j.id limit 1)
  union all
  select x.type, x.place, x.priority, x.share, x.id, k.n + 1
    from k cross join lateral (
      select j.type, coalesce(j.run_on, '') as place, j.priority, j.share, j.id from bellhop.every_job j
       where k.n < 50 and j.share is not null and j.state = 'ready' and not j.held and j.locks is null
         and (j.type, coalesce(j.run_on, ''), j.priority, j.share) > (k.type, k.place, k.priority, k.share)
       order by j.type, coalesce(j.run_on, ''), j.priority, j.share, j.id limit 1) x
   where k.type = coalesce($1::text, k.type)
), tops as (
  select k.id as top from k where k.type = coalesce($1::text, k.type)
  union
  select max(j.id) from bellhop.every_job j
), gaps as (
  select t.top, lead(t.top, 1, 0::bigint) over (order by t.top desc) as low, count(*) over () as n from tops t where t.top is not null
), sized as (
  select g.top, g.low, case when g.top - g.low <= $2::bigint / g.n then g.top - g.low end as small from gaps g
), spans as materialized (
  select s.top, s.low, coalesce(s.small, ($2::bigint - coalesce(sum(s.small) over (), 0))::bigint
                                         / greatest(count(*) filter (where s.small is null) over (), 1)) as most
    from sized s
), seen as materialized (
  select s.top, s.low, s.most, x.* from spans s
   cross join lateral (
     select j.id, j.type, j.share, j.created_at, coalesce(j.attempt_at, j.started_at) as began, j.ended_at
       from bellhop.every_job j
      where j.id <= s.top and j.id > s.low order by j.id desc limit s.most) x
), cut as (
  select r.top, min(r.id) as id from seen r group by r.top, r.low, r.most having count(*) >= r.most and min(r.id) > r.low + 1
), later as (
  select not exists (select from cut c join seen r on r.top = c.top and r.id = c.id
                      where greatest(r.created_at, r.began) >= $3::timestamptz) as whole
)
select r.type, coalesce(r.share, '') as name, count(*) as starts,
       sum(extract(epoch from greatest(coalesce(r.ended_at, clock_timestamp()) - r.began, interval '0')))::float8 as seconds,
       coalesce(s.weight, 1) as weight, bool_and(l.whole) as whole
  from seen r cross join later l
  left join bellhop.share s on s.type = r.type and s.name = r.share
 where r.began >= $3::timestamptz and ($1::text is null or r.type = $1::text)
   and r.type in (select o.type from seen o where o.share is not null)
 group by r.type, r.share, s.weight
 order by r.type, count(*) desc, name limit 2000
