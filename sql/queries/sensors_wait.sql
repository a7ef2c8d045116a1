-- Sensors that wait for the end of a run, of which none is open, are looked at. Guard: only such. Index: run_open.
select bellhop.sensors_begin()
