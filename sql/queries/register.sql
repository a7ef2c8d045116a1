-- A new instance. Committed synchronously: outcomes are guarded by its id.
insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag, queries, policy, tells, watches, listen, keys, paused)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, nullif($12, ''), $13, (select coalesce(array_agg(p.type), '{}') from bellhop.paused p))
returning id
