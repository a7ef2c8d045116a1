-- Message $1 is sent again, at once, and what it was before; NULL: there is none. Guard: operators only; not one that was sent. Index: the primary key.
select bellhop.notice_again($1)
