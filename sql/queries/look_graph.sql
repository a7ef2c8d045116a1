-- The jobs that are connected with one by dependencies, in whatever direction. $1 id, $2 how many at the most.
-- Indexes: dependency's primary key; dependency_needs; the queue's primary key.
with recursive way (id) as (
  select $1::bigint
  union
  select x.id
    from way w
   cross join lateral (select d.needs as id from bellhop.dependency d where d.job = w.id
                       union all
                       select d.job from bellhop.dependency d where d.needs = w.id) x
), picked as (
  select id from way limit $2::bigint
)
select j.id, j.key, j.type, j.state, j.exit_code, j.error, j.waiting_for
  from picked s join bellhop.job j on j.id = s.id
 order by j.id
