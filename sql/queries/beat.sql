-- I live, and the bell rings for it: a listener that does not hear that is deaf. No row: somebody has buried me.
-- $1 instance, $2 channel. Index: the primary key.
update bellhop.instance set heartbeat_at = clock_timestamp() where id = $1 and state = 'live' returning pg_notify($2, '')::text
