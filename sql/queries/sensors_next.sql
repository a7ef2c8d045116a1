-- In how many ms somebody has to look at sensors; NULL: nobody has to. Index: event_open; sensor_next; run_open.
select bellhop.sensors_next()
