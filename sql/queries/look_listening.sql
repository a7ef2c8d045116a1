-- Where the live instances of a machine ($1) answer that go by this name of it ($2): the one at $3 first, else who came last. Guard: who is silent is
-- left out. Index: instance_live.
select i.listen
  from bellhop.instance i
 where i.state = 'live' and i.machine = $1 and i.hostname = $2 and i.listen is not null and i.heartbeat_at > clock_timestamp() - i.lag
 order by (i.listen = $3) desc, i.id desc
 limit 1
