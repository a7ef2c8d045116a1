-- What retry_behind would do with a job that is over and with the jobs behind it, which need it, directly or through
-- others; as there, without the dummies of runs, and so without the next run. $1 id, $2 how many are looked at.
-- No row: no such job. Guard: none, it only reads. Indexes: the primary key; dependency_needs.
with recursive down (id) as (
  select $1::bigint
  union
  select d.job from down b join bellhop.dependency d on d.needs = b.id
   cross join lateral (select * from bellhop.every_job q where q.id = d.job offset 0) j
   where not (j.type = 'dummy' and j.run is not null and j.step is null)
), these as (
  select j.id, j.state, j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over,
         j.state in ('assigned', 'running') or j.state in ('held', 'scheduled', 'ready') and j.unmet is null as begun
    from (select w.id from down w limit $2::bigint + 1) w
   cross join lateral (select * from bellhop.every_job q where q.id = w.id offset 0) j
)
select a.id, a.state, count(*) filter (where t.over and t.id <> a.id) as follow, count(*) filter (where not t.over) as wait,
       min(t.id) filter (where t.begun) as begun, (array_agg(t.state order by t.id) filter (where t.begun))[1] as begun_is,
       (select count(*) from down) > $2::bigint as more
  from these a cross join these t where a.id = $1::bigint
 group by a.id, a.state
