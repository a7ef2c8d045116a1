-- Events of workflow $2 that instance $1 has seen: $3 names, $4 what came with each; $5 where it stands, $6 what is to be known of it
-- (NULL: as it was). NULL: it is not its own. Guard: the instance has
-- the workflow, and is live; each event once. Index: the primary keys.
select bellhop.sensor_events($1, $2, $3::text[], $4::jsonb[], $5::text::jsonb, $6::text)
