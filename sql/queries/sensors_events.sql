-- Makes runs of events that have none: $1 at most, $2 as in sensors_fire. Guard: each event once. Index: event_open.
select bellhop.take_events($1, $2)
