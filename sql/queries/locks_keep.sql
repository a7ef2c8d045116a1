-- Keeps locks free for reserved jobs: $1 levels, $2 names, $3 the job for each. A job that waits behind such a lock is
-- looked at again when the reserved job has ended, or is not reserved any more, and not in each pass.
-- Guard: the advisory lock of passes, and the limit of reserved jobs. Index: the primary keys.
with kept as (
  insert into bellhop.lock_reserved (job)
  select distinct k.job from unnest($3::bigint[]) as k (job) where (select count(*) from bellhop.lock_reserved) < 200
  on conflict do nothing
  returning job
)
insert into bellhop.lock_grant (level, name, job, fence, mode)
select distinct k.level, k.name, j.id, j.fence, 'kept'
  from unnest($1::text[], $2::text[], $3::bigint[]) as k (level, name, job)
  join bellhop.jobqueue j on j.id = k.job
 where j.id = any ($3) and (exists (select from kept where kept.job = j.id) or exists (select from bellhop.lock_reserved r where r.job = j.id))
on conflict (level, name, job) do update set fence = excluded.fence, mode = excluded.mode, since = clock_timestamp()
