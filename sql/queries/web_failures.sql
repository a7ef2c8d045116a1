-- Failures, by type and error with its numbers masked: how often, where, when, and the newest of them; of 50000 at
-- most. $1 how many groups. Guard: none, it only reads. Index: jobqueue_parked.
select f.type, f.masked as error, count(*) as jobs, array_remove(array_agg(distinct f.host), null) as hosts,
       min(f.ended_at) as first_at, max(f.ended_at) as last_at, (array_agg(f.id order by f.id desc))[1:5] as newest
  from (select j.id, j.type, j.host, j.ended_at, bellhop.masked(j.error) as masked
          from bellhop.every_job j where j.state in ('failed', 'quarantined') limit 50000) f
 group by f.type, f.masked
 order by jobs desc, last_at desc nulls last, f.type, f.masked
 limit $1::bigint
