-- A run by hand: $1 workflow, $2 parameters, $3 steps (NULL: all), $4 an event that was skipped (NULL: none). Guard: operators only. Index: the primary key.
select bellhop.workflow_run($1::text, $2::text::jsonb, $3::text[], $4::text)
