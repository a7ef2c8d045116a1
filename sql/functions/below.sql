-- below: what becomes of the jobs that need these, directly or through others, if these are cancelled: at most `most`
-- of them, and how many there are. A job that fails brings down the jobs that need it to succeed. It considers the jobs
-- that the caller sees: readers all, submitters their own. Indexes: dependency_needs; the queue's primary key.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.below(ids bigint[], most integer)
returns table (id bigint, key text, type text, state text, becomes text, among bigint)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with recursive fall (id, ends) as (
    select j.id, 'cancelled' from bellhop.job j
     where j.id = any (below.ids) and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')
    union
    select j.id, 'failed'
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met and f.ends <> all (d.wanted)
      join bellhop.job j on j.id = d.job and j.state in ('blocked', 'scheduled', 'ready') and not j.held and j.on_failure = 'fail'
  ), told as (
    select distinct on (j.id) j.id, j.key, j.type, j.state,
           case when j.held then 'held' when j.on_failure = 'run' or f.ends = any (d.wanted) then 'run' when j.on_failure = 'block' then 'blocked' else 'failed' end as becomes
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met
      join bellhop.job j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
     where j.id <> all (below.ids)
     order by j.id, (j.on_failure = 'run' or f.ends = any (d.wanted))
  )
  select t.id, t.key, t.type, t.state, t.becomes, count(*) over () from told t order by t.id limit below.most
$$;
