-- Why a sensor, $2, of instance $1 sees nothing: $3; NULL: it sees again. Guard: the instance has it. Index: the
-- primary keys.
select bellhop.sensor_failing($1, $2, $3)
