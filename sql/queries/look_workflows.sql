-- `bellhop workflow ls`: $1 patterns of LIKE for names, $2 whether the case of letters counts in them, $3 project, $4
-- active or not, $5 the kind of sensor, `none` among them; NULL: any. With the last run of each. Index: workflow's
-- primary key is read through; run_of.
select w.name, w.project, w.active, w.version, w.instance, w.changed_at, w.changed_by, s.kind as sensor, bellhop.schedule_of(w.name) as schedule, s.source,
       case when isfinite(s.next_fire) then s.next_fire end as next_fire, s.fired_at, s.problem, case when w.instance is not null then s.lag end as lag,
       r.id as run, r.state, r.created_at as run_created_at, r.ended_at as run_ended_at
  from bellhop.workflow w
  left join bellhop.sensor s on s.workflow = w.name
  left join lateral (select x.id, x.state, x.created_at, x.ended_at from bellhop.run x where x.workflow = w.name order by x.id desc limit 1) r on true
 where ($1::text[] is null or case when $2::boolean then w.name like any ($1::text[]) else w.name ilike any ($1::text[]) end)
   and ($3::text is null or w.project = $3::text) and ($4::boolean is null or w.active = $4::boolean)
   and ($5::text is null or coalesce(s.kind, bellhop.sensor_of(w.name), 'none') = $5::text)
 order by w.name
