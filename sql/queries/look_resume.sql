-- $1 type, NULL for all of them. Whether it was paused, and whether everything still is. Index: the primary key of bellhop.paused.
select coalesce(bellhop.resume($1::text), false), $1::text is not null and exists (select 1 from bellhop.paused p where p.type = '')
