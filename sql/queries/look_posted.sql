-- A request starts a workflow: $1 its name, $2 the event (NULL: each time a new one), $3 the request's body. Returns
-- whether the event is new; NULL: there is no such workflow, or it is not active. Guard: an event's name is unique.
-- Index: event's primary key.
select bellhop.workflow_http($1::text, $2::text, $3::jsonb)
