-- Whether an instance of that name ($1) lives. Index: instance_live.
select exists (select from bellhop.instance i where i.state = 'live' and i.name = $1 and i.heartbeat_at > clock_timestamp() - i.lag) as live
