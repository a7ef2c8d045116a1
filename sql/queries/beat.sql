-- I live, and the bell rings for it: a listener that does not hear that is deaf. No row: somebody has buried me.
-- $1 instance, $2 channel. It gives when the beat before it was, too: a server that knows only an older one has lost something.
-- Index: the primary key.
with before as (select i.heartbeat_at from bellhop.instance i where i.id = $1)
update bellhop.instance i set heartbeat_at = clock_timestamp() from before
 where i.id = $1 and i.state = 'live'
returning before.heartbeat_at, i.heartbeat_at, pg_notify($2, '')::text
