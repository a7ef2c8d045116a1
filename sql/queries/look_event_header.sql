-- The header that names the event in a request for workflow $1; NULL: no request starts it. Index: workflow's primary
-- key.
select bellhop.event_header($1::text)
