-- The newest run below id $1, where one below may have been created since $2 (NULL: whenever). Ids are given a moment before a run is
-- created, hence the hour. Index: run's primary key.
select n.id from (select r.id, r.created_at from bellhop.run r where r.id < $1::bigint order by r.id desc limit 1) n
 where $2::timestamptz is null or n.created_at >= $2::timestamptz - interval '1 hour'
