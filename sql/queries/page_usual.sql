-- How long the steps of a workflow usually take, in seconds: the median of its last 20 runs that succeeded, among its last
-- 200. $1 workflow, $2 before which run. Step NULL: the run itself. Guard: none, it only reads. Indexes: run_of; dependency's
-- and the queue's primary keys.
with past as (
  select r.id, extract(epoch from r.ended_at - r.started_at) as took
    from (select x.id, x.state, x.started_at, x.ended_at from bellhop.run x where x.workflow = $1::text and x.id < $2::bigint order by x.id desc limit 200) r
   where r.state = 'succeeded' order by r.id desc limit 20
)
select null::text as step, (percentile_cont(0.5) within group (order by p.took))::float8 as seconds from past p having count(*) > 0
union all
select s.step, (percentile_cont(0.5) within group (order by s.took))::float8
  from (select t.step, extract(epoch from j.ended_at - j.started_at) as took
          from past p
         cross join lateral (select y.step, y.job from bellhop.run_step y where y.run = p.id and y.step is not null limit 100) t
          join bellhop.every_job j on j.id = t.job
         where j.state = 'succeeded' and j.started_at is not null) s
 group by s.step
