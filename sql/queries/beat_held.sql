-- The process that has locked this instance's row, so that its heartbeat waited in vain: a row's xmax is the
-- transaction that locked it. No row: several hold it, or none does any more.
-- $1 instance.
-- Guard: none, it only reads. Index: the primary key; locks are in memory.
select l.pid, coalesce(nullif(a.application_name, ''), a.usename, '?'), extract(epoch from clock_timestamp() - a.xact_start)::float8
  from bellhop.instance i
  join pg_locks l on l.locktype = 'transactionid' and l.granted and l.transactionid = i.xmax
  left join pg_stat_activity a on a.pid = l.pid
 where i.id = $1
 limit 1
