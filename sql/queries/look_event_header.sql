-- The header that names the event which a request is to workflow $1; NULL: no request starts it. Index: workflow's primary key.
select bellhop.event_header($1::text)
