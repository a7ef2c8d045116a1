-- How long until the next row becomes due, in ms; no row: nothing will (infinity is never). A day at the most. Index: jobqueue_parked, the first of two ranges.
select least(86400000, greatest(0, extract(epoch from d.run_at - clock_timestamp()) * 1000))::bigint
  from ((select s.run_at from bellhop.jobqueue s
          where s.state = 'scheduled' and not s.held and s.run_at < 'infinity'
          order by s.run_at limit 1)
        union all
        (select r.run_at from bellhop.jobqueue r
          where r.state = 'ready' and not r.held and r.run_at > clock_timestamp() and r.run_at < 'infinity'
          order by r.run_at limit 1)) d
 order by d.run_at limit 1
