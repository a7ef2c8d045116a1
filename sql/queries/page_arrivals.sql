-- How many jobs were submitted lately, and within how many seconds: of the newest 5,000 those of the last 5 minutes.
-- $1 type (NULL: all). Guard: none, it only reads. Index: the primary key, backwards.
select count(*) filter (where w.age < 300 and ($1::text is null or w.type = $1::text)) as jobs,
       case when count(*) < 5000 then 300 else least(greatest(max(w.age), 1), 300) end::float8 as seconds
  from (select e.type, extract(epoch from clock_timestamp() - e.created_at) as age
          from bellhop.every_job e order by e.id desc limit 5000) w
