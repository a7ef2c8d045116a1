-- How far back a page of jobs has looked: the id of the 50000th before one; no row: to the beginning. $1 behind which id (NULL: the
-- newest). Guard: none, it only reads. Index: the primary key, backwards.
select e.id from bellhop.every_job e where e.id < coalesce($1::bigint, 9223372036854775807) order by e.id desc offset 49999 limit 1
