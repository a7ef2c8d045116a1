-- Activates, deactivates or deletes a workflow: $1 name, $2 the new state, $3 the version it has (NULL: whichever).
-- Guard: operators only. Index: the primary key.
select bellhop.workflow_change($1::text, $2::text, $3::integer)
