-- The jobs that one job needs, with their times. $1 id, $2 how many at the most. Indexes: dependency's primary key; the queue's primary key.
select j.id, j.type, j.key, j.state, j.created_at, j.started_at, j.ended_at
  from (select d.needs from bellhop.dependency d where d.job = $1 order by d.needs limit $2) d
  cross join lateral (select * from bellhop.job q where q.id = d.needs offset 0) j
 order by j.id
