-- $1 type, NULL for all of them. Index: the primary key of bellhop.paused.
select bellhop.pause($1::text) is null
