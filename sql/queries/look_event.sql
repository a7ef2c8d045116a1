-- Records an event that starts a workflow: $1 its name, $2 the event, $3 parameters. Returns whether it is new; NULL:
-- there is no such workflow, or it is not active. Guard: an event's name is unique. Index: event's primary key.
select bellhop.workflow_event($1::text, $2::text, $3::jsonb)
