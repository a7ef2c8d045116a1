-- The heartbeat. The bell rings for it, too: a listener that does not hear that is deaf. No row: another instance has
-- buried this one. $1 instance, $2 channel. It also returns the time of the beat before: a server that knows only an
-- older one has lost something.
-- Index: the primary key.
with before as (select i.heartbeat_at from bellhop.instance i where i.id = $1)
update bellhop.instance i set heartbeat_at = clock_timestamp() from before
 where i.id = $1 and i.state = 'live'
returning before.heartbeat_at, i.heartbeat_at, pg_notify($2, '')::text
