-- What retry_behind would do with a job that is over and with the jobs behind it, which need it, directly or through
-- others. $1 id, $2 how many are looked at.
-- No row: no such job. Guard: none, it only reads. Indexes: the primary key; dependency_needs.
with recursive down (id) as (
  select $1::bigint
  union
  select d.job from down b join bellhop.dependency d on d.needs = b.id
), these as ( -- without the dummies that end runs, as there
  select j.id, j.state, j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over,
         j.state in ('assigned', 'running') or j.state in ('held', 'scheduled', 'ready') and j.unmet is null as begun
    from (select w.id from down w limit $2::bigint + 1) w
   cross join lateral (select * from bellhop.every_job q where q.id = w.id offset 0) j
   where not (j.type = 'dummy' and j.run is not null and j.step is null)
)
select a.id, a.state, count(*) filter (where t.over and t.id <> a.id) as follow, count(*) filter (where not t.over) as wait,
       min(t.id) filter (where t.begun) as begun, (array_agg(t.state order by t.id) filter (where t.begun))[1] as begun_is,
       (select count(*) from down) > $2::bigint as more
  from these a cross join these t where a.id = $1::bigint
 group by a.id, a.state
