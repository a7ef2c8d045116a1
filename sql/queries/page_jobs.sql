-- Jobs that are not over, or failed, the newest first, by the indexes that hold them. Rows with looked: of some state more than $6 rows
-- were looked at, and web_jobs has to say it. $1 states, $2 types (NULL: all), $3 LIKE for keys, $4 words of errors, $5 ids below
-- this one (NULL: any), $7 how many, $8 run, $9 submitted at or after and $10 before a time (each NULL: any). Of what failed without a time of its own there may be any number: the index has its newest first.
-- Indexes: jobqueue_parked; jobqueue_taken; jobqueue_ready; jobqueue_pinned, jobqueue_shared; jobqueue_locked.
with most as ( -- of failed ones that are looked at: where nothing but steps of runs is left out, a few more than a page has;
  -- for a search ten times as many as of others: their index has the newest first, so that it ends with a page
  select case when $2::text[] is null and $3::text is null and $4::text is null and $8::bigint is null and $9::timestamptz is null and $10::timestamptz is null then 4 * $7::bigint else 10 * $6::bigint end as n
), parked as (
  select id from bellhop.every_job
   where state in ('held', 'blocked', 'scheduled', 'quarantined') and state = any ($1::text[]) limit $6::bigint + 1
), failed as (
  select id from bellhop.every_job
   where 'failed' = any ($1::text[]) and state = 'failed' and state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
     and not held and run_at is null and id < coalesce($5::bigint, 9223372036854775807)
   order by run_at desc, id desc limit (select n from most) + 1 -- as the index is, backwards
), timed as (
  select id from bellhop.every_job
   where 'failed' = any ($1::text[]) and state = 'failed' and state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
     and not held and run_at is not null limit $6::bigint + 1
), withheld as (
  select id from bellhop.every_job
   where 'failed' = any ($1::text[]) and state = 'failed' and state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined')
     and held limit $6::bigint + 1
), taken as (
  select id from bellhop.every_job where state in ('assigned', 'running') and state = any ($1::text[]) limit $6::bigint + 1
), free as (
  select id from bellhop.every_job
   where 'ready' = any ($1::text[]) and state = 'ready' and not held and run_on is null and locks is null and share is null limit $6::bigint + 1
), pinned as (
  select id from bellhop.every_job
   where 'ready' = any ($1::text[]) and state = 'ready' and not held and run_on is not null and locks is null and share is null limit $6::bigint + 1
), shared as (
  select id from bellhop.every_job where 'ready' = any ($1::text[]) and share is not null and state = 'ready' and not held and locks is null limit $6::bigint + 1
), locked as (
  select id from bellhop.every_job where 'ready' = any ($1::text[]) and state = 'ready' and not held and locks is not null limit $6::bigint + 1
), picked as (
  select id from parked union all select id from failed union all select id from timed union all select id from withheld union all
  select id from taken union all select id from free union all select id from pinned union all select id from shared union all select id from locked
), many as (
  select greatest((select count(*) from parked), (select count(*) from timed), (select count(*) from withheld),
                  (select count(*) from taken), (select count(*) from free),
                  (select count(*) from pinned), (select count(*) from shared), (select count(*) from locked)) > $6::bigint as many
), page as materialized ( -- from the newest on, row by row, until there are enough
  select p.id
    from (select x.id from picked x
           where x.id < coalesce($5::bigint, 9223372036854775807)
             and x.id >= coalesce((select min(f.id) from failed f having count(*) > (select n from most)), 0)
           order by x.id desc) p
   cross join lateral (select q.type, q.key, q.run, q.step, q.created_at, case when $4::text is not null then q.error end as error
                         from bellhop.every_job q where q.id = p.id offset 0) w
   where not (select many from many)
     and ($2::text[] is null or w.type = any ($2::text[]))
     and ($3::text is null or w.key like $3::text)
     and ($4::text is null or strpos(w.error, $4::text) > 0)
     and ($8::bigint is null or w.run = $8::bigint)
     and ($9::timestamptz is null or w.created_at >= $9::timestamptz) and ($10::timestamptz is null or w.created_at < $10::timestamptz)
     and (w.run is null or w.step is not null)
   order by p.id desc limit $7::bigint
), looked as (
  select (select many from many) or (select count(*) from failed) > (select n from most) and (select count(*) from page) < $7::bigint as looked
), shown as (
  select p.id from page p
  union all
  (select x.id from picked x -- any row, to say so
    where (select looked from looked) and not exists (select from page) limit 1)
)
select {columns}, extract(epoch from clock_timestamp() - j.created_at)::float8 as age, l.looked
  from looked l
 cross join shown p
 cross join lateral (select * from bellhop.every_job q where q.id = p.id offset 0) j
 order by j.id desc
