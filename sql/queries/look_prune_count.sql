-- The jobs that prune would delete: $1 that ended at this time or later (NULL: whenever), $2 before this time (NULL: $3
-- ms ago), $4 states, $5 whether only RJM's. The conditions are those of bellhop.prune_jobs. Guard: nothing is changed.
-- Index: the primary key, all of it.
with bound as materialized (
  select $1::timestamptz as since, coalesce($2::timestamptz, clock_timestamp() - $3::bigint * interval '1 ms') as until
)
select j.type, j.state, count(*) as jobs, min(j.id) as first, max(j.id) as last
  from bound b
 cross join bellhop.jobqueue j
  left join bellhop.run r on r.id = j.run
 where j.state = any ($4::text[]) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
   and j.ended_at < b.until and (b.since is null or coalesce(r.ended_at, j.ended_at) >= b.since)
   and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                    where d.needs = j.id and (not d.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
   and not exists (select from bellhop.attached x where x.job = j.id and x.live)
   and not exists (select from bellhop.rjm f where f.job = j.id and f.state <> 'old' and j.state = 'succeeded')
   and (j.run is null or j.step is not null and (r.id is null or r.ended_at < b.until
         and not exists (select from bellhop.jobqueue g where g.id = r.gate and g.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
         and not exists (
         select from bellhop.dependency s join bellhop.jobqueue o on o.id = s.needs
          where s.job = r.last
            and (o.state <> all ($4::text[])
                 or exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                             where d.needs = o.id and (not d.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                 or exists (select from bellhop.attached x where x.job = o.id and x.live)
                 or exists (select from bellhop.rjm f where f.job = o.id and f.state <> 'old' and o.state = 'succeeded')))))
   and (not $5::boolean or exists (select from bellhop.rjm f where f.job = j.id))
 group by j.type, j.state order by count(*) desc, j.type, j.state
