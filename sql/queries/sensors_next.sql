-- In how many ms instance $1 has to look at sensors; NULL: never. Index: workflow_instance; event_open; sensor_next;
-- run_open.
select bellhop.sensors_next($1)
