-- A sensor that cannot be read, and why: $1 workflow, $2 the reason. It is looked at again when it is changed. Guard: the caller has locked it. Index: the primary key.
update bellhop.sensor set problem = $2, since = clock_timestamp(), next_fire = null where workflow = $1
