-- Locks that running jobs have asked for and get. $1 instance, $2 job, $3 fence, $4 level, $5 name, $6 mode. Guard: the
-- advisory lock of passes: under it they were found free, and the jobs running. Index: lock_grant's primary key.
insert into bellhop.lock_grant as g (level, name, job, fence, mode, instance)
select a.level, a.name, a.job, a.fence, a.mode, $1
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[]) as a (job, fence, level, name, mode)
on conflict (level, name, job) do update
   set mode = case when g.fence = excluded.fence and g.mode = 'exclusive' then g.mode else excluded.mode end,
       since = case when g.fence = excluded.fence then g.since else clock_timestamp() end,
       fence = excluded.fence, instance = excluded.instance, until = null
