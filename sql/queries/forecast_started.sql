-- Jobs whose start was forecast: how long ago they started, in seconds (NULL: not yet), and whether they may still
-- start. $1 ids. A job without a row was deleted. Guard: none, it only reads. Index: the primary key.
select j.id, extract(epoch from clock_timestamp() - coalesce(j.attempt_at, j.started_at))::float8 as ago,
       j.state || '' in ('ready', 'assigned') and not j.held as waits
  from bellhop.jobqueue j where j.id = any ($1::bigint[])
