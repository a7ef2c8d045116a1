-- I live. No row: somebody has buried me. $1 instance. Index: the primary key.
update bellhop.instance set heartbeat_at = clock_timestamp() where id = $1 and state = 'live' returning id
