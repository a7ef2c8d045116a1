-- The keys for sealed jobs: those that jobs wait for, and those that some live instances have and others do not; how many
-- jobs wait, and which instances have the key. Index: jobqueue_parked.
with live as (select i.name, i.keys from bellhop.instance i where i.state = 'live'),
waits as (
  select bellhop.key_wanted(j.waiting_for) as key, count(*) as jobs
    from bellhop.job j
   where j.state = 'scheduled' and j.waiting_for like e'no\\_key: %'
   group by 1
)
select k.key, coalesce(w.jobs, 0) as jobs,
       coalesce((select string_agg(l.name, ', ' order by l.name) from live l where k.key = any (l.keys)), '') as has,
       coalesce((select string_agg(l.name, ', ' order by l.name) from live l where k.key <> all (l.keys)), '') as lacks
  from (select w.key from waits w union select unnest(l.keys) from live l) k
  left join waits w on w.key = k.key
 where k.key is not null
 order by k.key
