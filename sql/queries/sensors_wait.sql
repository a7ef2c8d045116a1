-- Looks at sensors that wait for the end of a run when no run is open. Guard: only such sensors. Index: run_open.
select bellhop.sensors_begin()
