-- Counts for each type, and times in seconds over its 1000 jobs that ended last. Reads the whole queue: for people, not for loops.
with counted as (
  select type,
         count(*) filter (where state = 'held')        as held,
         count(*) filter (where state = 'blocked')     as blocked,
         count(*) filter (where state = 'scheduled')   as scheduled,
         count(*) filter (where state = 'ready')       as ready,
         count(*) filter (where state = 'assigned')    as assigned,
         count(*) filter (where state = 'running')     as running,
         count(*) filter (where state = 'succeeded')   as succeeded,
         count(*) filter (where state = 'failed')      as failed,
         count(*) filter (where state = 'cancelled')   as cancelled,
         count(*) filter (where state = 'quarantined') as quarantined,
         coalesce(sum(items_done), 0)::bigint   as items_done,
         coalesce(sum(items_failed), 0)::bigint as items_failed,
         sum(deaths)::bigint                    as deaths,
         sum(lost)::bigint                      as lost,
         coalesce(sum(successes), 0)::bigint    as successes
    from bellhop.job
   group by type
)
select c.*, t.wait_p50, t.wait_p90, t.wait_p99, t.run_p50, t.run_p90, t.run_p99
  from counted c
 cross join lateral (
   select percentile_disc(0.5) within group (order by l.wait) as wait_p50,
          percentile_disc(0.9) within group (order by l.wait) as wait_p90,
          percentile_disc(0.99) within group (order by l.wait) as wait_p99,
          percentile_disc(0.5) within group (order by l.run)  as run_p50,
          percentile_disc(0.9) within group (order by l.run)  as run_p90,
          percentile_disc(0.99) within group (order by l.run) as run_p99
     from (select greatest(extract(epoch from j.started_at - greatest(j.created_at, j.run_at)), 0)::float8 as wait,
                  extract(epoch from j.ended_at - coalesce(j.attempt_at, j.started_at))::float8 as run
             from bellhop.job j
            where j.type = c.type and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
              and j.started_at is not null and j.ended_at is not null
            order by j.ended_at desc
            limit 1000) l
 ) t
 order by c.type
