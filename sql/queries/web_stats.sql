-- Counts for each type over the 50000 newest jobs, and times in seconds of those that are over; the columns of look_stats.sql. Guard: none, it
-- only reads. Index: the primary key, backwards.
with recent as materialized (
  select j.type, j.state, j.items_done, j.items_failed, j.deaths, j.lost, j.successes,
         greatest(extract(epoch from j.started_at - greatest(j.created_at, j.run_at)), 0)::float8 as wait,
         extract(epoch from j.ended_at - coalesce(j.attempt_at, j.started_at))::float8 as run,
         j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and j.started_at is not null and j.ended_at is not null as over
    from bellhop.every_job j order by j.id desc limit 50000
)
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
       coalesce(sum(successes), 0)::bigint    as successes,
       percentile_disc(0.5) within group (order by wait) filter (where over) as wait_p50,
       percentile_disc(0.9) within group (order by wait) filter (where over) as wait_p90,
       percentile_disc(0.99) within group (order by wait) filter (where over) as wait_p99,
       percentile_disc(0.5) within group (order by run) filter (where over)  as run_p50,
       percentile_disc(0.9) within group (order by run) filter (where over)  as run_p90,
       percentile_disc(0.99) within group (order by run) filter (where over) as run_p99
  from recent
 group by type
 order by type
