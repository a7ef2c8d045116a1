-- Events of workflow $2 that instance $1 has seen: $3 names, $4 the values of each; $5 where the sensor stands, $6 a
-- remark about it (NULL: as it was). NULL: the workflow is not the instance's own. Guard: the instance has the
-- workflow, and is live; each event once. Index: the primary keys.
select bellhop.sensor_events($1, $2, $3::text[], $4::jsonb[], $5::text::jsonb, $6::text)
