-- `bellhop workflow run --skipped`: the events of workflow $1 that were skipped, the oldest first, $2 at most. A run whose
-- steps found nothing to do is `skipped` too, but it began: it has a last job. Index: event_of; run's primary key.
select e.workflow, e.event, e.at, e.run, r.state, r.reason
  from bellhop.event e join bellhop.run r on r.id = e.run
 where e.workflow = $1::text and r.state = 'skipped' and r.last is null
 order by e.at, e.event limit $2::bigint
