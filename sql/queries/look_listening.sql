-- The addresses of a machine's ($1) live instances that have this host name ($2): the one at $3 first, else the newest.
-- Guard: silent instances are left out. Index: instance_live.
select i.listen
  from bellhop.instance i
 where i.state = 'live' and i.machine = $1 and i.hostname = $2 and i.listen is not null and i.heartbeat_at > clock_timestamp() - i.lag
 order by (i.listen = $3) desc, i.id desc
 limit 1
