-- Retention: deletes what was over long ago, in small transactions, by one instance at a time, beside the hot path.

-- retention_begin: whether this instance is to make a pass now: the last one is long enough ago, and no instance is at
-- it.
-- Grant: scheduler
create or replace function bellhop.retention_begin(me bigint, every interval) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update bellhop.housekeeping h
     set instance = me, until = clock_timestamp() + interval '1 min', begun_at = clock_timestamp(), deleted = 0
   where (h.instance is null or h.until < clock_timestamp()
          or not exists (select from bellhop.instance i where i.id = h.instance and i.state = 'live'))
     and (h.begun_at is null or h.begun_at <= clock_timestamp() - every
          or h.instance is not null); -- a pass that was never ended
  return found;
end
$$;

-- retention_goes_on: whether this instance still makes the pass; adds this many to the deleted ones. over: it has ended
-- its pass. Then emitted events of which no job has yet to hear are deleted, 30 days after they came, and changes after
-- 90 days: of these the newest million stays.
-- Grant: scheduler
create or replace function bellhop.retention_goes_on(me bigint, more bigint, over boolean) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update bellhop.housekeeping h
     set until = clock_timestamp() + interval '1 min', deleted = h.deleted + more,
         instance = case when not over then me end, ended_at = case when over then clock_timestamp() else h.ended_at end
   where h.instance = me;
  if found and over then
    perform bellhop.retain_events(2592000000, 10000);
    perform bellhop.retain_changes(7776000000, 1000000);
    return true;
  end if;
  return found;
end
$$;

-- as_archived: the archive's form of these jobs: their rows, with their attempts, their steps and
-- their log.
-- Grant: scheduler
create or replace function bellhop.as_archived(ids bigint[]) returns table (job bigint, "row" jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select j.id, to_jsonb(j) || jsonb_build_object(
           'attempts', (select coalesce(jsonb_agg(to_jsonb(a) order by a.attempt), '[]') from bellhop.attempt_past a where a.job = j.id),
           'steps', (select coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'output', s.output, 'at', s.at) order by s.at), '[]')
                       from bellhop.saved_step s where s.job = j.id),
           'log', (select coalesce(jsonb_agg(to_jsonb(l) order by l.id), '[]') from bellhop.log l where l.job = j.id))
    from bellhop.jobqueue j where j.id = any (ids)
$$;

-- runs_as_archived: the archive's form of these runs, under the id of the dummy that ends them: their rows, with the
-- event that started them and the messages of how they ended. Index: the primary keys; notice_run.
-- Grant: scheduler
create or replace function bellhop.runs_as_archived(ids bigint[]) returns table (job bigint, "row" jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select r.last, jsonb_build_object('run', to_jsonb(r),
           'event', (select to_jsonb(e) from bellhop.event e where e.workflow = r.workflow and e.event = r.event and e.run = r.id),
           'messages', (select coalesce(jsonb_agg(to_jsonb(n) order by n.id), '[]') from bellhop.notice n where n.run = r.id and n.status <> 'waiting'))
    from bellhop.run r where r.id = any (ids)
$$;

-- archived: writes these jobs, or runs, to a table of the user's, (job bigint, "row" jsonb).
-- Grant: scheduler
create or replace function bellhop.archived(ids bigint[], archive text, runs boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if archive <> '' and ids <> '{}' then
    execute pg_catalog.format('insert into %s (job, "row") select a.job, a."row" from bellhop.%I($1) a', archive::regclass,
                              case when runs then 'runs_as_archived' else 'as_archived' end) using ids;
  end if;
end
$$;

-- jobs_forgotten: deletes these jobs, whose rows the caller has locked, with all that is kept about them. Returns how
-- many.
-- Grant: scheduler
create or replace function bellhop.jobs_forgotten(ids bigint[]) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  n integer;
begin
  if ids = '{}' then
    return 0;
  end if;
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.lost_run l where l.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.item_done i where i.job = any (ids);
  delete from bellhop.deadline d where d.job = any (ids);
  delete from bellhop.rjm r where r.job = any (ids);
  delete from bellhop.attached x where x.job = any (ids);
  delete from bellhop.engine_job e where e.job = any (ids) and e.state = 'over';
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics n = row_count;
  return n;
end
$$;

-- retain_jobs: looks at the next jobs behind an id, `most` of them, and deletes those that were over for long enough.
-- That age is the rules' for their type and state, or for their state (type ''); no rule: for ever. A job with a key is
-- deleted only after keyed (ms; NULL: never): while it is there, its key is taken. Steps of runs stay with their run,
-- and jobs that others still need stay. last is NULL if no job behind could be old enough. Index: the queue's primary
-- key.
-- Grant: scheduler
create or replace function bellhop.retain_jobs(past bigint, most integer, types text[], states text[], ages bigint[], keyed bigint, archive text,
                                               out deleted integer, out last bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  ids    bigint[];
  oldest timestamptz;
begin
  select max(w.id), min(w.created_at) into last, oldest
    from (select j.id, j.created_at from bellhop.jobqueue j where j.id > past order by j.id limit most) w;
  deleted := 0;
  if last is null then
    return;
  end if;
  ids := array(
    select j.id
      from bellhop.jobqueue j
      cross join lateral (select r.age from unnest(types, states, ages) as r (type, state, age)
                           where r.state = j.state and r.type in ('', j.type) order by r.type = '' limit 1) rule
     where j.id > past and j.id <= last and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and j.run is null
       and j.ended_at < clock_timestamp() - rule.age * interval '1 ms'
       and (j.key is null or j.ended_at < clock_timestamp() - keyed * interval '1 ms')
       and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                        where d.needs = j.id and (not d.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
       and not exists (select from bellhop.attached x where x.job = j.id and x.live)
       and not exists (select from bellhop.rjm r where r.job = j.id)
     order by j.id
       for update of j skip locked);
  perform bellhop.archived(ids, archive, false);
  deleted := bellhop.jobs_forgotten(ids);
  -- Ids and creation times have the same order, give or take a transaction: an hour.
  if oldest > clock_timestamp() - (select min(a) from unnest(ages) a) * interval '1 ms' + interval '1 h' then
    last := null;
  end if;
end
$$;

-- Older ones, with one age for all runs, which no instance calls any more.
drop function if exists bellhop.prune_runs(interval, integer);

-- retain_runs: for runs that were over for as long as their state's age says (ms; NULL, or none: for ever), the oldest
-- first, deletes at most so many jobs, and then the runs that have none left, with their events and messages. If those
-- were fewer than `most`, it also deletes the versions of workflows that were deleted for longer than any run is kept.
-- Returns how many jobs and runs: fewer than `most` are all that there were. Index: run_ended_as.
-- Grant: scheduler
create or replace function bellhop.retain_runs(states text[], ages bigint[], most integer, archive text) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  rule record;
  ids  bigint[];
  n    integer := 0;
begin
  for rule in select u.state, clock_timestamp() - u.age * interval '1 ms' as before from unnest(states, ages) u (state, age) where u.age is not null loop
    -- As many runs, in this order, as it takes to reach `most` steps.
    ids := array(
      select x.id
        from (select c.id, c.ended_at, sum(c.steps) over (order by c.ended_at, c.id rows between unbounded preceding and 1 preceding) as before
                from (select r.id, r.ended_at, (select count(*) from bellhop.dependency s where s.job = r.last) as steps
                        from bellhop.run r
                       where r.state = rule.state and r.ended_at < rule.before and exists (select from bellhop.dependency s where s.job = r.last)
                         and not exists (select from bellhop.jobqueue g where g.id = r.gate and g.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                         and not exists (select from bellhop.dependency s join bellhop.dependency x on x.needs = s.needs join bellhop.jobqueue c on c.id = x.job
                                          where s.job = r.last and (not x.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                       order by r.ended_at, r.id limit most) c) x
       where coalesce(x.before, 0) < most);
    ids := bellhop.whole_runs(ids, array['succeeded', 'failed', 'cancelled', 'quarantined']);
    perform bellhop.archived(ids, archive, false);
    n := n + bellhop.jobs_forgotten(ids);
    ids := array(select r.id from bellhop.run r
                  where r.state = rule.state and r.ended_at < rule.before and not exists (select from bellhop.dependency d where d.job = r.last)
                  order by r.ended_at limit most for update of r skip locked);
    perform bellhop.archived(ids, archive, true);
    perform bellhop.runs_forgotten(ids);
    n := n + cardinality(ids);
  end loop;
  if n < most and cardinality(ages) > 0 and array_position(ages, null) is null then
    delete from bellhop.workflow_past p
     where p.workflow = any (array(select x.workflow from bellhop.workflow_past x
                                    where x.what = 'deleted' and x.changed_at < clock_timestamp() - (select max(a) from unnest(ages) a) * interval '1 ms'))
       and not exists (select from bellhop.workflow_past x where x.workflow = p.workflow
                          and x.changed_at >= clock_timestamp() - (select max(a) from unnest(ages) a) * interval '1 ms')
       and not exists (select from bellhop.workflow w where w.name = p.workflow)
       and not exists (select from bellhop.run r where r.workflow = p.workflow);
  end if;
  return n;
end
$$;
