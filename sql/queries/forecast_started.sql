-- What became of jobs whose start was foretold: how long ago it was, in seconds (NULL: it has not begun), and whether it may yet begin.
-- $1 ids. Who is not there was deleted. Guard: none, it only reads. Index: the primary key.
select j.id, extract(epoch from clock_timestamp() - coalesce(j.attempt_at, j.started_at))::float8 as ago,
       j.state || '' in ('ready', 'assigned') and not j.held as waits
  from bellhop.jobqueue j where j.id = any ($1::bigint[])
