-- Since when an instance ($1) has looked at all of the queue: $2 is where that began (waiting.sql). Index: the primary key.
update bellhop.instance set looked = $2::text::xid8, looked_at = clock_timestamp() where id = $1
