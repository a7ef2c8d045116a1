-- How many messages a sensor, $2, of instance $1 has not read yet: $3. Guard: the instance has it. Index: the primary keys.
select bellhop.sensor_lag($1, $2, $3)
