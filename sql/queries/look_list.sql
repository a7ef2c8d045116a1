-- `bellhop ls`: the newest jobs in some states, oldest first; without the dummies at which runs of workflows begin and end. $1 states, $2 types (NULL: all), $3 how many at the most (NULL: all).
-- One branch for each index that holds a group of states, so that finished rows are read only when they are asked for.
-- Indexes: jobqueue_parked; jobqueue_taken; the primary key backwards.
with picked as (
  (select id from bellhop.every_job
    where state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
      and state = any ($1::text[]) and ($2::text[] is null or type = any ($2::text[]))
      and (run is null or step is not null)
    order by id desc limit $3::bigint)
  union all
  (select id from bellhop.every_job
    where state in ('assigned', 'running')
      and state = any ($1::text[]) and ($2::text[] is null or type = any ($2::text[]))
      and (run is null or step is not null)
    order by id desc limit $3::bigint)
  union all
  (select id from bellhop.every_job
    where state = 'ready' and 'ready' = any ($1::text[])
      and ($2::text[] is null or type = any ($2::text[]))
      and (run is null or step is not null)
    order by id desc limit $3::bigint)
  union all
  (select id from bellhop.every_job
    where state in ('succeeded', 'cancelled') and $1::text[] && array['succeeded', 'cancelled']
      and state = any ($1::text[]) and ($2::text[] is null or type = any ($2::text[]))
      and (run is null or step is not null)
    order by id desc limit $3::bigint)
), newest as (
  select id from picked order by id desc limit $3::bigint
)
select {columns}, extract(epoch from clock_timestamp() - j.created_at)::float8 as age
  from newest n join bellhop.every_job j on j.id = n.id
 order by j.id
