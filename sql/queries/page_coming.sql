-- The starts of the next hour: how many of the first 10,000 jobs in each minute, by type, and the minutes at which
-- workflows start by their sensors. Late starts count as of now. Guard: none, it only reads; readers only. Indexes:
-- jobqueue_parked; sensor_next.
select d.type as name, false as workflow, greatest(date_trunc('minute', d.run_at), date_trunc('minute', clock_timestamp())) as minute, count(*) as n
  from (select j.type, j.run_at from bellhop.every_job j
         where j.state = 'scheduled' and j.state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') and not j.held
           and j.run_at < clock_timestamp() + interval '1 h'
         order by j.run_at limit 10000) d
 group by d.type, 3
union all
select s.workflow, true, greatest(date_trunc('minute', s.next_fire), date_trunc('minute', clock_timestamp())), 1
  from bellhop.sensor s join bellhop.workflow w on w.name = s.workflow
 where w.active and s.next_fire > '-infinity' and s.next_fire < 'infinity'
   and s.next_fire < clock_timestamp() + interval '1 h'
 order by minute, name
