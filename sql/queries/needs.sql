-- The jobs that some jobs needed, for the links between their traces; 100 of each at the most. $1 ids.
-- Indexes: dependency's primary key; the queue's primary key.
select w.job, n.id, n.attempt, coalesce(n.traceparent, ''), n.created_at
  from unnest($1::bigint[]) as w (job)
 cross join lateral (
   select j.id, j.attempt, j.traceparent, j.created_at
     from (select d.needs from bellhop.dependency d where d.job = w.job order by d.needs limit 100) d
     join bellhop.jobqueue j on j.id = d.needs) n
