-- The last runs of a workflow, $1, or run $2: $3 at the most. Index: run_of, run's primary key.
select r.id, r.workflow, r.version, r.event, r.triggered_by, r.state, r.created_at, r.started_at, r.ended_at, r.reason
  from bellhop.run r
 where ($1::text is null or r.workflow = $1::text) and ($2::bigint is null or r.id = $2::bigint)
 order by r.id desc limit $3::bigint
