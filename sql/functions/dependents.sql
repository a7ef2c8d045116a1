-- dependents: how many jobs need one of these, directly or through others, and what becomes of them; only jobs that are
-- not over and not among these. cancelled: what happens if these are cancelled (failed, blocked, held, or run: they may
-- run all the same); else all of them wait. A preview asks for it: it walks from each of these to the last that needs
-- it. It considers the jobs that the caller sees. Indexes: dependency_open; the queue's primary key.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.dependents(ids bigint[], cancelled boolean) returns jsonb
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with recursive meant (id) as materialized (
    select j.id from bellhop.job j where j.id = any (dependents.ids) and (not dependents.cancelled or j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
  ), fall (id, ends) as (
    select m.id, 'cancelled' from meant m where exists (select from bellhop.dependency d where d.needs = m.id and not d.met)
    union
    select j.id, 'failed'
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met and (not dependents.cancelled or f.ends <> all (d.wanted))
      join bellhop.jobqueue j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
                             and (not dependents.cancelled or not j.held and j.on_failure = 'fail')
  ), told as (
    select distinct on (j.id) j.id,
           case when not dependents.cancelled then 'wait' when j.held then 'held' when j.on_failure = 'run' or f.ends = any (d.wanted) then 'run'
                when j.on_failure = 'block' then 'blocked' else 'failed' end as becomes
      from fall f
      join bellhop.dependency d on d.needs = f.id and not d.met
      join bellhop.jobqueue j on j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready') and j.type <> 'dummy'
     where not exists (select from meant m where m.id = j.id)
     order by j.id, (j.on_failure = 'run' or f.ends = any (d.wanted))
  )
  select coalesce(jsonb_object_agg(b.becomes, b.n), '{}') from (select t.becomes, count(*) as n from told t group by t.becomes) b
$$;
