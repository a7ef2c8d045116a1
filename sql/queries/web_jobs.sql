-- A page of jobs, the newest first: those of the 50000 before an id that a filter lets through; without the dummies of
-- workflows. $1 behind which id (NULL: the newest), $2 states, $3 types, $4 a pattern of LIKE for keys, $5 a text in
-- errors, $6 run, $7 host, $8 submitted at or after and $9 before a time (each NULL: any), $10 how many. Columns that
-- the filter does not need are worked out only for the page. Guard: none, it only reads. Index: the primary key,
-- backwards.
with page as (
  select w.id
    from (select e.id, e.state, e.type, e.key, e.run, e.step, e.host, e.created_at, case when $5::text is not null then e.error end as error
            from bellhop.every_job e where e.id < coalesce($1::bigint, 9223372036854775807) order by e.id desc limit 50000) w
   where ($2::text[] is null or w.state = any ($2::text[])) and ($3::text[] is null or w.type = any ($3::text[]))
     and ($4::text is null or w.key like $4::text) and ($5::text is null or strpos(w.error, $5::text) > 0)
     and ($6::bigint is null or w.run = $6::bigint) and ($7::text is null or w.host = $7::text)
     and ($8::timestamptz is null or w.created_at >= $8::timestamptz) and ($9::timestamptz is null or w.created_at < $9::timestamptz)
     and (w.run is null or w.step is not null)
   order by w.id desc limit $10::bigint
)
select {columns}, extract(epoch from clock_timestamp() - j.created_at)::float8 as age
  from page p join bellhop.every_job j on j.id = p.id
 order by j.id desc
