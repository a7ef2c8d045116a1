-- Events that nobody has seen to come to runs: $1 at the most, $2 as in sensors_fire. Guard: each event once. Index: event_open.
select bellhop.take_events($1, $2)
