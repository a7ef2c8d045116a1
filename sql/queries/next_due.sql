-- How long until the next row becomes due, in ms; no row: nothing will. Index: jobqueue_due.
select greatest(0, extract(epoch from d.run_at - clock_timestamp()) * 1000)::bigint
  from bellhop.jobqueue d
 where d.run_at is not null and d.state in ('scheduled', 'ready') and (d.state = 'scheduled' or d.run_at > clock_timestamp())
 order by d.run_at limit 1
