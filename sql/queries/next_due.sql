-- How long until the next row becomes due, in ms; no row: nothing will. Index: jobqueue_parked, the first of two ranges.
select greatest(0, extract(epoch from d.run_at - clock_timestamp()) * 1000)::bigint
  from ((select s.run_at from bellhop.jobqueue s
          where s.state = 'scheduled' and not s.held and s.run_at is not null
          order by s.run_at limit 1)
        union all
        (select r.run_at from bellhop.jobqueue r
          where r.state = 'ready' and not r.held and r.run_at > clock_timestamp()
          order by r.run_at limit 1)) d
 order by d.run_at limit 1
