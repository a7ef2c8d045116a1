-- job_name: the name of a job in an error.
-- Grant: scheduler
create or replace function bellhop.job_name(id bigint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((select format('job %s%s', j.id, coalesce(' (' || j.key || ')', '')) from bellhop.jobqueue j where j.id = job_name.id),
                  format('job %s', job_name.id))
$$;

-- predicate: what a job in this state is or did, for a sentence. scheduler.JobState.Predicate says the same.
-- Grant: submitter reader scheduler
create or replace function bellhop.predicate(state text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when state in ('succeeded', 'failed') then state when state = 'cancelled' then 'was cancelled' else 'is ' || state end
$$;

-- unmet_because: why a job cannot run that needs another one, which has ended; and the job at which that began.
-- Grant: scheduler
create or replace function bellhop.unmet_because(needs bigint, out why text, out root bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  other bellhop.jobqueue;
begin
  select * into other from bellhop.jobqueue j where j.id = unmet_because.needs;
  root := coalesce(other.ended_by, unmet_because.needs);
  if other.id is null then
    why := format('job %s, which it needs, was deleted', unmet_because.needs);
  elsif other.ended_by is null then
    why := format('%s, which it needs, %s', bellhop.job_name(other.id), bellhop.predicate(other.state));
  else
    why := format('%s, which it needs, %s because of %s', bellhop.job_name(other.id), bellhop.predicate(other.state), bellhop.job_name(root));
  end if;
end
$$;

-- ended: these jobs have ended. Counts the dependencies on them, releases the jobs that need nothing else, and handles
-- the jobs that needed another end. Call it in the statement that records the outcomes: it is volatile, so its
-- statements see what was committed until then, not only what was there when the outer statement began. Otherwise it
-- would miss a dependency that came in between. Returns how many jobs are ready now. With told, the caller looks for
-- them at once, and only other instances need the bell.
-- Grant: scheduler
create or replace function bellhop.ended(ids bigint[], told boolean default false) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  needed   bigint[];
  ready    integer;
  refilled integer := 0;
begin
  -- Rows of attached tables wait for a place: one probe of an index that is empty otherwise.
  if (select true from bellhop.attached x where x.live and x.ahead is not null order by x.attachment, x.ahead limit 1) then
    refilled := bellhop.refill_pools(ids);
    if refilled > 0 and not (told and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) live) < 2) then
      perform pg_notify('bellhop', '');
    end if;
  end if;
  -- Locks that jobs kept while they rested: another probe of such an index.
  if (select true from bellhop.lock_grant g where g.rests limit 1) and exists (select from bellhop.lock_grant g where g.rests and g.job = any (ids)) then
    perform pg_notify('bellhop', 'locks');
  end if;
  -- No job waits for another: this is all that it costs where there are no graphs.
  if ids = '{}' or not exists (select from bellhop.dependency d where not d.met) then
    return refilled;
  end if;
  needed := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
  if needed = '{}' then
    return refilled;
  end if;
  ready := refilled + bellhop.release_dependents(needed, told);
  if ready > 0 and exists (select from bellhop.jobqueue j where j.type = 'dummy' and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null) then
    ready := ready + bellhop.pass_dummies(told);
  end if;
  return ready;
end
$$;

-- release_dependents: one round for each generation of jobs that fail because another failed, or that are passed over
-- because another said `skipped`. A job that wants nothing but success of that one is then over too, and has not
-- failed. Lists are never joined row by row, nor sorted by one of two columns, but hashed; rows are found by index, `=
-- any`.
-- Grant: scheduler
create or replace function bellhop.release_dependents(ids bigint[], told boolean) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
declare
  ends    bigint[] := ids; -- jobs whose dependents are still to be handled
  over    bigint[];
  rounds  integer := 0;
  ready   integer := 0;
  n_ready integer;
  n_later integer;
  n_due   integer;
  doubt   bigint[];
  fell    bigint[];
begin
  while ends <> '{}' loop
    rounds := rounds + 1;
    over := ends;
    -- A long chain of failures must not hold up the outcomes behind it: maintenance continues with it.
    if rounds > 50 then
      update bellhop.dependency d set counted = false where d.needs = any (ends) and not d.met and d.counted;
      perform pg_notify('bellhop_due', '');
      exit;
    end if;
    with edge as materialized (
      select d.job, d.needs, n.state = any (d.wanted) and not x.skips as good, x.skips
        from bellhop.dependency d
        join bellhop.jobqueue n on n.id = d.needs
       cross join lateral (select coalesce(n.ended_as = 'skipped' and d.wanted <@ '{succeeded}', false) as skips) x
       where d.needs = any (ends) and n.id = any (ends) and not d.met and d.counted
    ), child as materialized (
      -- Rows are locked in one order, so that two instances do not wait for each other. A row that an app has locked is
      -- skipped, since that transaction may last: see `later`.
      select j.id, j.on_failure, j.held
        from bellhop.jobqueue j
       where j.id = any (array(select e.job from edge e)) and j.unmet is not null
       order by j.id
         for no key update skip locked
    ), met as (
      update bellhop.dependency d
         set met = true
        from edge e join child c on c.id = e.job
       where d.needs = any (ends) and not d.met and d.job = e.job and d.needs = e.needs and (e.good or c.on_failure = 'run')
    ), later as (
      update bellhop.dependency d
         set counted = false
        from edge e
       where d.needs = any (ends) and not d.met and d.job = e.job and d.needs = e.needs
         and e.job not in (select c.id from child c)
         and e.job = any (array(select j.id from bellhop.jobqueue j
                                 where j.id = any (array(select x.job from edge x)) and j.unmet is not null))
      returning 1
    ), verdict as (
      select e.job, count(*) filter (where e.good or c.on_failure = 'run') as met,
             min(e.needs) filter (where not e.good and not e.skips and c.on_failure <> 'run') as bad,
             bool_or(not e.good and not e.skips and c.on_failure = 'fail' and not c.held) as fails,
             min(e.needs) filter (where e.skips and c.on_failure <> 'run' and not c.held) as skips
        from edge e join child c on c.id = e.job
       group by e.job
    ), moved as (
      update bellhop.jobqueue j
         set unmet = case when not v.fails and v.skips is null then nullif(j.unmet - v.met, 0) end,
             state = case when j.state not in ('held', 'blocked') then j.state -- changed by hand
                          when v.fails then 'failed'
                          when v.skips is not null then 'succeeded'
                          when j.state = 'held' or j.unmet > v.met then j.state
                          when j.run_at > clock_timestamp() then 'scheduled'
                          else 'ready' end,
             waiting_for = case when v.fails or v.skips is not null then null
                                when v.bad is not null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                                when j.unmet > v.met then j.waiting_for end,
             ended_at = case when v.fails or v.skips is not null then clock_timestamp() end,
             ended_as = case when not v.fails and v.skips is not null then 'skipped' end,
             error = case when v.fails then (bellhop.unmet_because(v.bad)).why end,
             ended_by = case when v.fails then (bellhop.unmet_because(v.bad)).root
                             when v.skips is not null then (bellhop.unmet_because(v.skips)).root end
        from verdict v
       where j.id = any (array(select x.job from verdict x)) and j.id = v.job
      returning j.id, j.state
    )
    select coalesce(array_agg(m.id) filter (where m.state in ('failed', 'succeeded')), '{}'),
           count(*) filter (where m.state = 'ready'),
           count(*) filter (where m.state = 'scheduled'),
           (select count(*) from later)
      into ends, n_ready, n_due, n_later
      from moved m;
    ready := ready + n_ready;
    if n_later + n_due > 0 then
      perform pg_notify('bellhop_due', '');
    end if;
    -- Dependencies that are not counted yet: their jobs are resolved again.
    doubt := array(select j.id from bellhop.jobqueue j
                    where j.id = any (array(select d.job from bellhop.dependency d where d.needs = any (over) and not d.met and not d.counted))
                      and j.state in ('held', 'blocked', 'scheduled', 'ready')
                    order by j.id
                      for no key update skip locked);
    if doubt <> '{}' then
      select w.ready, w.failed into n_ready, fell from bellhop.resolve(doubt, false) w;
      ready := ready + n_ready;
      ends := ends || fell;
    end if;
  end loop;
  -- Other instances than the caller may serve their types.
  if ready > 0 and not (told and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) live) < 2) then
    perform pg_notify('bellhop', '');
  end if;
  return ready;
end
$$;

-- resolve: what the dependencies of these jobs come to now; the caller has locked the rows of these jobs. With sure, a
-- dependency on a job that has not ended is counted from now on: that job's row is locked for a moment, so that no
-- outcome can be under way that does not know of the dependency. If another transaction has locked that row, the
-- dependency is looked at again later. Returns how many jobs are ready now, and the jobs that are over by it
-- (`failed`): the caller tells bellhop.ended of them.
-- Grant: scheduler
create or replace function bellhop.resolve(jobs bigint[], sure boolean, out ready integer, out failed bigint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
declare
  firm bigint[] := '{}';
begin
  if sure then
    firm := array(select n.id from bellhop.jobqueue n
                   where n.id = any (array(select d.needs from bellhop.dependency d
                                            where d.job = any (jobs) and not d.counted and not d.met))
                     for share skip locked);
  end if;
  with open as materialized (
    select d.job, d.needs, d.wanted from bellhop.dependency d where d.job = any (jobs) and not d.counted
  ), other as materialized (
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over, n.ended_as is not distinct from 'skipped' as skips
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  )
  update bellhop.dependency d
     set met = d.met or coalesce(n.over and (n.state = any (o.wanted) and not (n.skips and o.wanted <@ '{succeeded}') or j.on_failure = 'run'),
                                 n.id is null and j.on_failure = 'run'),
         counted = true
    from open o
    join bellhop.jobqueue j on j.id = o.job
    left join other n on n.id = o.needs
    left join unnest(firm) as f (id) on f.id = o.needs
   where d.job = any (jobs) and j.id = any (jobs) and d.job = o.job and d.needs = o.needs
     and (d.met or f.id is not null or coalesce(n.over, true)); -- over, or deleted

  with open as materialized (
    select d.job, d.needs, d.wanted from bellhop.dependency d where d.job = any (jobs) and not d.met
  ), other as materialized (
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over, n.ended_as is not distinct from 'skipped' as skips
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  ), verdict as (
    -- A needed job may have ended well since the statement above. Its dependency is not met yet: the transaction that
    -- ended the job counts it, or a later look does.
    select w.id as job, count(o.job) as unmet, min(o.needs) filter (where coalesce(n.over and n.state <> all (o.wanted), true)) as bad,
           min(o.needs) filter (where n.over and n.skips and o.wanted <@ '{succeeded}') as skips
      from unnest(jobs) as w (id)
      left join open o on o.job = w.id
      left join other n on n.id = o.needs
     group by w.id
  ), moved as (
    update bellhop.jobqueue j
       set unmet = case when f.over is null then nullif(v.unmet, 0) end,
           state = case when j.held then 'held'
                        when f.over is not null then f.over
                        when v.unmet > 0 then 'blocked'
                        when j.run_at > clock_timestamp() then 'scheduled'
                        else 'ready' end,
           waiting_for = case when v.bad is not null and f.over is null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                              when v.unmet > 0 and v.bad is null and not j.held and f.over is null then 'dependencies' end,
           ended_at = case when f.over is not null then clock_timestamp() end,
           ended_as = case when f.over = 'succeeded' then 'skipped' end,
           error = case when f.over = 'failed' then (bellhop.unmet_because(v.bad)).why end,
           ended_by = case f.over when 'failed' then (bellhop.unmet_because(v.bad)).root when 'succeeded' then (bellhop.unmet_because(v.skips)).root end
      from verdict v
      join bellhop.jobqueue o on o.id = v.job
     cross join lateral (select case when o.held then null
                                     when v.bad is not null and o.on_failure = 'fail' then 'failed'
                                     when v.skips is not null and o.on_failure <> 'run' then 'succeeded' end as over) f
     where j.id = any (jobs) and o.id = any (jobs) and j.id = v.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.state
  )
  select coalesce(array_agg(m.id) filter (where m.state in ('failed', 'succeeded')), '{}'), count(*) filter (where m.state = 'ready')
    into failed, ready
    from moved m;
  if ready > 0 then
    perform pg_notify('bellhop', '');
  end if;
end
$$;

-- weigh: the old name of resolve. A function that began before this file was put in place may still call it. No other
-- code does, and a later migration may drop it.
-- Grant: scheduler
create or replace function bellhop.weigh(jobs bigint[], sure boolean, out ready integer, out failed bigint[])
language sql volatile
set search_path = pg_catalog, pg_temp
as 'select r.ready, r.failed from bellhop.resolve(jobs, sure) r';

-- look_again: resolves at most this many of the jobs with dependencies that are not counted. Jobs whose rows are locked
-- are left for the next time. Returns how many jobs it looked at, and whether some are left.
-- Grant: scheduler
create or replace function bellhop.look_again(most integer, out looked integer, out more boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select distinct d.job from bellhop.dependency d where not d.counted limit most))
                   and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id
                   for no key update skip locked);
  -- A job that has started or is over, or was deleted, waits for nothing.
  update bellhop.dependency d
     set counted = true
   where not d.counted
     and not exists (select from bellhop.jobqueue j where j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready'));
  looked := cardinality(jobs);
  if looked > 0 then
    perform bellhop.refuse_cycles(jobs, true);
    perform bellhop.ended(w.failed) from bellhop.resolve(jobs, true) w;
    -- Claims pass over rows that are locked, and we have locked some.
    perform pg_notify('bellhop', '');
  end if;
  more := exists (select from bellhop.dependency d where not d.counted);
end
$$;
