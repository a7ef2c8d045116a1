-- The result of a reload. $1 instance, $2 whether it was refused, $3 the text about it. Index: the primary key.
update bellhop.instance set reloaded_at = clock_timestamp(), reload_failed = $2, reload_said = $3 where id = $1 and state = 'live'
