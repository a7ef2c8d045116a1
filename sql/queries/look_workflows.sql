-- `bellhop workflow ls`: $1 patterns of LIKE for names (NULL: all), $2 project (NULL: all), with the last run of each.
-- Index: workflow's primary key is read through; run_of.
select w.name, w.project, w.active, w.version, w.instance, w.changed_at, w.changed_by, s.kind as sensor,
       case when isfinite(s.next_fire) then s.next_fire end as next_fire, s.fired_at, s.problem,
       r.id as run, r.state, r.created_at as run_created_at, r.ended_at as run_ended_at
  from bellhop.workflow w
  left join bellhop.sensor s on s.workflow = w.name
  left join lateral (select x.id, x.state, x.created_at, x.ended_at from bellhop.run x where x.workflow = w.name order by x.id desc limit 1) r on true
 where ($1::text[] is null or w.name like any ($1::text[])) and ($2::text is null or w.project = $2::text)
 order by w.name
