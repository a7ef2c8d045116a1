-- Sends message $1 again, at once; returns its status before; NULL: there is none. Guard: operators only; not a message
-- that was sent. Index: the primary key.
select bellhop.notice_again($1)
