-- Rings for jobs with locks; with $1 only where there are other instances that may take them. Guard: none. Index: instance_live.
select pg_notify('bellhop', 'locks')
 where not $1 or (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) live) > 1
