-- `bellhop workflow events`: the events of workflow $1, the newest first, $2 at most, and the run of each. $3 only this
-- state, `waiting` among them: no run was made of it yet; NULL: any. Index: event_of, backwards; run's primary key.
select e.workflow, e.event, e.at, e.run, coalesce(r.state, 'waiting') as state, r.reason
  from bellhop.event e left join bellhop.run r on r.id = e.run
 where e.workflow = $1::text and ($3::text is null or coalesce(r.state, 'waiting') = $3::text)
 order by e.at desc, e.event desc limit $2::bigint
