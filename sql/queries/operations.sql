-- Operations, the newest first: $1 that one (NULL: all), $2 before an id (NULL: the newest), $3 how many. Guard: none, it only reads. Index: the
-- primary key, backwards.
select o.id, o.verb, o.filter, o.priority, o.state, o.planned, o.by_state, o.skipped, o.samples, o.planned_by, o.planned_at, o.started_at,
       o.ended_at, o.worked_at, o.done, o.refused, o.undone, o.error, o.dependents, o.actor
  from bellhop.seen_operation o
 where ($1::bigint is null or o.id = $1::bigint) and ($2::bigint is null or o.id < $2::bigint)
 order by o.id desc limit $3::bigint
