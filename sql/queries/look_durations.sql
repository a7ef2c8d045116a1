-- How long jobs of each type took, in seconds, half of them and nine of ten, over the newest $1 jobs. Guard: none, it only reads.
-- Index: the primary key, backwards.
select r.type, percentile_disc(0.5) within group (order by r.took) as p50, percentile_disc(0.9) within group (order by r.took) as p90
  from (select j.type, extract(epoch from j.ended_at - coalesce(j.attempt_at, j.started_at))::float8 as took
          from (select * from bellhop.every_job order by id desc limit $1) j
         where j.state = 'succeeded' and j.ended_at is not null and j.started_at is not null) r
 group by r.type
