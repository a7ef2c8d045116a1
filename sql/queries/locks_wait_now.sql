-- Locks that running jobs have asked for and have to wait for. $1 instance, $2 job, $3 fence, $4 level, $5 name, $6
-- mode.
-- Guard: the advisory lock of passes. Index: lock_wait's primary key.
insert into bellhop.lock_wait as w (level, name, job, fence, mode, instance)
select a.level, a.name, a.job, a.fence, a.mode, $1
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[]) as a (job, fence, level, name, mode)
on conflict (level, name, job) do update
   set mode = excluded.mode, instance = excluded.instance, since = case when w.fence = excluded.fence then w.since else clock_timestamp() end,
       fence = excluded.fence
