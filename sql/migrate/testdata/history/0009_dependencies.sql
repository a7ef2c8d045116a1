-- Graphs: a job can need others, and waits until they have ended as it wants.

create table bellhop.dependency (
  job     bigint  not null, -- needs the other
  needs   bigint  not null,
  wanted  text[]  not null default '{succeeded}', -- how the other has to end
  -- It ended so; or in any way, where this job's on_failure is 'run'. Once met, always met: what a retry of the other
  -- comes to does not stop this job any more.
  met     boolean not null default false,
  -- Whoever ends the other job counts this dependency. Not so: somebody has to look at it first. It came with the
  -- triggers disabled; or it came, or could not be counted, in the very moment in which the other job may have ended.
  counted boolean not null default false,
  primary key (job, needs),
  constraint dependency_not_itself  check (job <> needs),
  constraint dependency_wanted_ends check (wanted <> '{}' and wanted <@ array['succeeded', 'failed', 'cancelled', 'quarantined'])
);
-- Whom an outcome may release.
create index dependency_open on bellhop.dependency (needs) where not met;
-- Who needs a job, whatever became of it: for `bellhop graph`, and for whoever releases or deletes jobs.
create index dependency_needs on bellhop.dependency (needs);
-- Normally empty. A claim looks here, and takes no job that is in it.
create index dependency_uncounted on bellhop.dependency (job) where not counted;

comment on table bellhop.dependency is 'job waits until needs has ended in one of the wanted states.';

-- How many dependencies of a job that is held or blocked are not met, NULL for none; and the job whose end was its end too.
alter table bellhop.jobqueue add column unmet integer, add column ended_by bigint;

-- job_name: how a job is called in an error.
create function bellhop.job_name(id bigint) returns text
language sql stable
set search_path = pg_catalog
as $$
  select coalesce((select format('job %s%s', j.id, coalesce(' (' || j.key || ')', '')) from bellhop.jobqueue j where j.id = job_name.id),
                  format('job %s', job_name.id))
$$;

-- unmet_because: why a job that needs another, which has ended, cannot run; and the job at which that began.
create function bellhop.unmet_because(needs bigint, out why text, out root bigint)
language plpgsql stable
set search_path = pg_catalog
as $$
declare
  other bellhop.jobqueue;
begin
  select * into other from bellhop.jobqueue j where j.id = unmet_because.needs;
  root := coalesce(other.ended_by, unmet_because.needs);
  if other.id is null then
    why := format('it needs job %s, which was deleted', unmet_because.needs);
  elsif other.ended_by is null then
    why := format('it needs %s, which is %s', bellhop.job_name(other.id), other.state);
  else
    why := format('it needs %s, which is %s because of %s', bellhop.job_name(other.id), other.state, bellhop.job_name(root));
  end if;
end
$$;

-- ended: these jobs have come to an end. Counts the dependencies on them, releases those who need nothing else, and
-- deals with those who needed another end. Called in the statement that records the outcomes: being volatile, its
-- statements see what was committed until then, not only what was there when the outer one began; without that,
-- a dependency that came in between would be missed. Returns how many jobs are ready now; with told, the caller looks for
-- them at once, and only other instances need the bell.
create function bellhop.ended(ids bigint[], told boolean default false) returns integer
language plpgsql volatile
as $$
declare
  needed bigint[];
begin
  -- Nobody waits for anybody: all that it costs where there are no graphs.
  if ids = '{}' or not exists (select from bellhop.dependency d where not d.met) then
    return 0;
  end if;
  needed := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
  if needed = '{}' then
    return 0;
  end if;
  return bellhop.release_dependents(needed, told);
end
$$;

-- release_dependents: one round for each generation of those who fail because another failed. Lists are never
-- joined row by row, nor sorted by one of two columns, but hashed; rows are found by index, `= any`.
create function bellhop.release_dependents(ids bigint[], told boolean) returns integer
language plpgsql volatile
set search_path = pg_catalog
set enable_nestloop = off
set enable_mergejoin = off
as $$
declare
  ends    bigint[] := ids; -- whose dependents are to be dealt with
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
    -- A long chain of failures must not hold up the outcomes behind it: the keeper goes on with it.
    if rounds > 50 then
      update bellhop.dependency d set counted = false where d.needs = any (ends) and not d.met and d.counted;
      perform pg_notify('bellhop_due', '');
      exit;
    end if;
    with edge as materialized (
      select d.job, d.needs, n.state = any (d.wanted) as good
        from bellhop.dependency d
        join bellhop.jobqueue n on n.id = d.needs
       where d.needs = any (ends) and n.id = any (ends) and not d.met and d.counted
    ), child as materialized (
      -- In one order, so that two instances do not wait for each other. And nobody waits at all for one that an app
      -- has in hand, in a transaction that may last: see `later`.
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
             min(e.needs) filter (where not e.good and c.on_failure <> 'run') as bad,
             bool_or(not e.good and c.on_failure = 'fail' and not c.held) as fails
        from edge e join child c on c.id = e.job
       group by e.job
    ), moved as (
      update bellhop.jobqueue j
         set unmet = case when not v.fails then nullif(j.unmet - v.met, 0) end,
             state = case when j.state not in ('held', 'blocked') then j.state -- changed by hand
                          when v.fails then 'failed'
                          when j.state = 'held' or j.unmet > v.met then j.state
                          when j.run_at > clock_timestamp() then 'scheduled'
                          else 'ready' end,
             waiting_for = case when v.fails then null
                                when v.bad is not null then 'failed_dependency: ' || bellhop.job_name(v.bad)
                                when j.unmet > v.met then j.waiting_for end,
             ended_at = case when v.fails then clock_timestamp() end,
             error = case when v.fails then (bellhop.unmet_because(v.bad)).why end,
             ended_by = case when v.fails then (bellhop.unmet_because(v.bad)).root end
        from verdict v
       where j.id = any (array(select x.job from verdict x)) and j.id = v.job
      returning j.id, j.state
    )
    select coalesce(array_agg(m.id) filter (where m.state = 'failed'), '{}'),
           count(*) filter (where m.state = 'ready'),
           count(*) filter (where m.state = 'scheduled'),
           (select count(*) from later)
      into ends, n_ready, n_due, n_later
      from moved m;
    ready := ready + n_ready;
    if n_later + n_due > 0 then
      perform pg_notify('bellhop_due', '');
    end if;
    -- Dependencies that nobody has counted yet: their jobs are weighed anew.
    doubt := array(select j.id from bellhop.jobqueue j
                    where j.id = any (array(select d.job from bellhop.dependency d where d.needs = any (over) and not d.met and not d.counted))
                      and j.state in ('held', 'blocked', 'scheduled', 'ready')
                    order by j.id
                      for no key update skip locked);
    if doubt <> '{}' then
      select w.ready, w.failed into n_ready, fell from bellhop.weigh(doubt, false) w;
      ready := ready + n_ready;
      ends := ends || fell;
    end if;
  end loop;
  -- Instances that serve their types may be others than the caller.
  if ready > 0 and not (told and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) live) < 2) then
    perform pg_notify('bellhop', '');
  end if;
  return ready;
end
$$;

-- weigh: what the dependencies of these jobs, whose rows the caller has locked, come to now. With sure, a dependency
-- on a job that has not ended is counted from now on: that job's row is locked for a moment, so that no outcome of it
-- can be under way that does not know of the dependency. One that is locked by somebody else is looked at again.
-- Gives how many jobs are ready now, and those that failed: the caller tells bellhop.ended of them.
create function bellhop.weigh(jobs bigint[], sure boolean, out ready integer, out failed bigint[])
language plpgsql volatile
set search_path = pg_catalog
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
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  )
  update bellhop.dependency d
     set met = d.met or coalesce(n.over and (n.state = any (o.wanted) or j.on_failure = 'run'), n.id is null and j.on_failure = 'run'),
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
    select n.id, n.state, n.state in ('succeeded', 'failed', 'cancelled', 'quarantined') as over
      from bellhop.jobqueue n
     where n.id = any (array(select o.needs from open o))
  ), verdict as (
    -- One that has ended well since the statement above is not met yet, and whoever ended it counts it, or is looked after.
    select w.id as job, count(o.job) as unmet, min(o.needs) filter (where coalesce(n.over and n.state <> all (o.wanted), true)) as bad
      from unnest(jobs) as w (id)
      left join open o on o.job = w.id
      left join other n on n.id = o.needs
     group by w.id
  ), moved as (
    update bellhop.jobqueue j
       set unmet = case when j.held or v.bad is null or j.on_failure <> 'fail' then nullif(v.unmet, 0) end,
           state = case when j.held then 'held'
                        when v.bad is not null and j.on_failure = 'fail' then 'failed'
                        when v.unmet > 0 then 'blocked'
                        when j.run_at > clock_timestamp() then 'scheduled'
                        else 'ready' end,
           waiting_for = case when v.bad is not null and (j.held or j.on_failure <> 'fail') then 'failed_dependency: ' || bellhop.job_name(v.bad)
                              when v.unmet > 0 and v.bad is null and not j.held then 'dependencies' end,
           ended_at = case when v.bad is not null and j.on_failure = 'fail' and not j.held then clock_timestamp() end,
           error = case when v.bad is not null and j.on_failure = 'fail' and not j.held then (bellhop.unmet_because(v.bad)).why end,
           ended_by = case when v.bad is not null and j.on_failure = 'fail' and not j.held then (bellhop.unmet_because(v.bad)).root end
      from verdict v
     where j.id = any (jobs) and j.id = v.job and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.state
  )
  select coalesce(array_agg(m.id) filter (where m.state = 'failed'), '{}'), count(*) filter (where m.state = 'ready')
    into failed, ready
    from moved m;
  if ready > 0 then
    perform pg_notify('bellhop', '');
  end if;
end
$$;

-- look_again: at most this many of the jobs with dependencies that somebody has to look at. Jobs that somebody has in
-- hand are left for the next time. Returns how many it looked at, and whether some are left.
create function bellhop.look_again(most integer, out looked integer, out more boolean)
language plpgsql volatile
set search_path = pg_catalog
as $$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select distinct d.job from bellhop.dependency d where not d.counted limit most))
                   and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id
                   for no key update skip locked);
  -- A job that has started or is over, or is not there, waits for nothing.
  update bellhop.dependency d
     set counted = true
   where not d.counted
     and not exists (select from bellhop.jobqueue j where j.id = d.job and j.state in ('held', 'blocked', 'scheduled', 'ready'));
  looked := cardinality(jobs);
  if looked > 0 then
    perform bellhop.refuse_cycles(jobs, true);
    perform bellhop.ended(w.failed) from bellhop.weigh(jobs, true) w;
    -- Claims pass over rows that are locked, and we have locked some.
    perform pg_notify('bellhop', '');
  end if;
  more := exists (select from bellhop.dependency d where not d.counted);
end
$$;

-- needed_by_way: all that these jobs need and that has not ended as they want, by way of others too; themselves
-- among them. One index probe for each.
create function bellhop.needed_by_way(ids bigint[]) returns setof bigint
language sql stable
set search_path = pg_catalog
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
  with recursive way (id) as (
    select unnest(ids)
    union
    select d.needs from way w join bellhop.dependency d on d.job = w.id and not d.met
  )
  select id from way
$$;

-- refuse_cycles: whether jobs wait for each other, now that these have got new dependencies. The message prints who
-- for whom. With give_up, those on the cycle fail: nobody is there to be told (their triggers were disabled).
create function bellhop.refuse_cycles(jobs bigint[], give_up boolean default false) returns void
language plpgsql volatile
set search_path = pg_catalog
as $$
declare
  start   bigint[];
  nodes   bigint[]; -- by number, from 1
  behind  integer[]; -- who needs, grouped by whom they need
  first   integer[]; -- where the group of each begins in behind
  left_of integer[]; -- how many needs each has that may still end
  queue   integer[] := '{}';
  at      integer := 1;
  n       integer;
  i       integer;
  k       integer;
  ahead   integer[]; -- of each that is left, one whom it needs
  walk    bigint[] := '{}';
  words   text;
begin
  -- A cycle that came just now leads through one of these, and somebody needs that one.
  start := array(select j.id from unnest(jobs) as j (id) where exists (select from bellhop.dependency d where d.needs = j.id and not d.met));
  if start = '{}' then
    return;
  end if;
  nodes := array(select w from bellhop.needed_by_way(start) w order by w);
  -- A way back leads up at one place at least, and down at another, in the order of the ids. Mostly all lead one way.
  if (select count(distinct d.needs > d.job) from bellhop.dependency d where d.job = any (nodes) and not d.met) < 2 then
    return;
  end if;
  -- Take away whoever needs nothing, then whoever needs only those, and so on: linear in jobs and dependencies.
  n := cardinality(nodes);
  with node as materialized (
    select x.id, x.o::integer as i from unnest(nodes) with ordinality as x (id, o)
  ), edge as materialized (
    select a.i as job, b.i as needs
      from bellhop.dependency d
      join node a on a.id = d.job
      join node b on b.id = d.needs
     where d.job = any (nodes) and not d.met
  )
  select array(select e.job from edge e order by e.needs),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.needs, count(*) as many from edge e group by e.needs) c on c.needs = x.i order by x.i),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.job, count(*) as many from edge e group by e.job) c on c.job = x.i order by x.i)
    into behind, first, left_of;
  k := 1;
  for i in 1 .. n loop
    k := k + first[i];
    first[i] := k - first[i];
    if left_of[i] = 0 then
      queue := queue || i;
    end if;
  end loop;
  first := first || k;
  while at <= cardinality(queue) loop
    i := queue[at];
    at := at + 1;
    for k in first[i] .. first[i + 1] - 1 loop
      left_of[behind[k]] := left_of[behind[k]] - 1;
      if left_of[behind[k]] = 0 then
        queue := queue || behind[k];
      end if;
    end loop;
  end loop;
  if cardinality(queue) = n then
    return;
  end if;
  -- Whoever is left needs another who is left: follow them until one comes again.
  ahead := array_fill(0, array[n]);
  for i in 1 .. n loop
    if left_of[i] > 0 then
      at := i;
      for k in first[i] .. first[i + 1] - 1 loop
        ahead[behind[k]] := i;
      end loop;
    end if;
  end loop;
  while left_of[at] >= 0 loop
    left_of[at] := -1; -- been there
    at := ahead[at];
  end loop;
  i := ahead[at];
  k := at; -- the lowest id on the cycle, to begin with
  while i <> at loop
    k := least(k, i);
    i := ahead[i];
  end loop;
  i := k;
  loop
    walk := walk || nodes[i];
    i := ahead[i];
    exit when i = k;
  end loop;
  walk := walk || nodes[k];
  words := (select string_agg(bellhop.job_name(w), ' needs ' order by o) from unnest(walk) with ordinality as x (w, o) where o <= 30);
  if cardinality(walk) > 30 then
    words := words || format(' … (%s jobs in all)', cardinality(walk) - 1);
  end if;
  if not give_up then
    raise check_violation using message = 'these jobs would wait for each other for ever: ' || words, constraint = 'dependency_no_cycle', table = 'dependency',
      hint = 'Leave out one of these dependencies.';
  end if;
  update bellhop.jobqueue j
     set state = 'failed', unmet = null, ended_at = clock_timestamp(), error = 'these jobs wait for each other for ever: ' || words, waiting_for = null
   where j.id = walk[1] and j.state in ('blocked', 'scheduled', 'ready');
  perform bellhop.ended(walk[1:1]);
end
$$;

-- submit: the INSERT with the columns by name, and the jobs that this one needs: after (ids) and after_keys, which
-- have to end in one of the wanted states. A key that exists gives the first job's id when the content equals, and an
-- error that names the difference when it does not; whatever the first one's state, nothing changes.
drop function bellhop.submit;
create function bellhop.submit(
  type text, args text default null, msq text default null, repeat text default null, run_on text default null,
  key text default null, priority integer default 0, priority_name text default null, run_at timestamptz default null,
  held boolean default false, vars jsonb default null, locks text[] default null, reasons text[] default null,
  max_attempts integer default 1, timeout interval default null, on_failure text default 'fail',
  traceparent text default null, after bigint[] default null, after_keys text[] default null, wanted text[] default '{succeeded}'
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  new_id bigint;
  old    bellhop.jobqueue;
  differ text[] := '{}';
  needs  bigint[] := '{}';
  names  text[];
begin
  if submit.priority not between -20 and 19 then
    raise check_violation using message = format('priority %s is out of range', submit.priority), hint = 'Priorities are -20 (first) to 19 (last); the default is 0.';
  end if;
  if submit.priority_name is not null then
    submit.priority := bellhop.priority_of(submit.priority_name);
  end if;
  insert into bellhop.jobqueue as j (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,
                                     max_attempts, timeout, on_failure, traceparent)
  values (submit.type, submit.args, submit.msq, submit.repeat, submit.run_on, submit.key, submit.priority, submit.priority_name,
          submit.run_at, submit.held, submit.vars, submit.locks, submit.reasons, submit.max_attempts, submit.timeout,
          submit.on_failure, coalesce(submit.traceparent, nullif(current_setting('bellhop.traceparent', true), '')))
  on conflict (key) where j.key is not null do nothing
  returning j.id into new_id;
  if submit.after is not null or submit.after_keys is not null then
    needs := array(select distinct x.id from (select unnest(submit.after) as id union all
                     select j.id from bellhop.jobqueue j where j.key = any (submit.after_keys)) x where x.id is not null);
    names := array(select n from unnest(submit.after_keys) n where not exists (select from bellhop.jobqueue j where j.key = n));
    if names <> '{}' and new_id is not null then
      raise foreign_key_violation using message = format('there is no job with the key "%s", which the new one would need', names[1]),
        hint = 'Submit what is needed first.';
    end if;
  end if;
  if new_id is not null then
    if needs <> '{}' then
      insert into bellhop.dependency (job, needs, wanted) select new_id, n, submit.wanted from unnest(needs) n;
    end if;
    return new_id;
  end if;

  select * into strict old from bellhop.jobqueue j where j.key = submit.key;
  if old.type          is distinct from submit.type          then differ := differ || format('type %L, not %L', old.type, submit.type); end if;
  if old.args          is distinct from submit.args          then differ := differ || format('args %L, not %L', old.args, submit.args); end if;
  if old.msq           is distinct from submit.msq           then differ := differ || format('msq %L, not %L', old.msq, submit.msq); end if;
  if old.repeat        is distinct from submit.repeat        then differ := differ || format('repeat %L, not %L', old.repeat, submit.repeat); end if;
  if old.run_on        is distinct from submit.run_on        then differ := differ || format('run_on %L, not %L', old.run_on, submit.run_on); end if;
  if old.priority      is distinct from submit.priority      then differ := differ || format('priority %s, not %s', old.priority, submit.priority); end if;
  if old.vars          is distinct from submit.vars          then differ := differ || format('vars %s, not %s', old.vars, submit.vars); end if;
  if old.locks         is distinct from submit.locks         then differ := differ || format('locks %s, not %s', old.locks, submit.locks); end if;
  if old.on_failure    is distinct from submit.on_failure    then differ := differ || format('on_failure %L, not %L', old.on_failure, submit.on_failure); end if;
  -- What it needs must be among what the first one needs: others may have been added to that since. What is not there
  -- any more was pruned.
  differ := differ || array(
    select case when d.job is null then format('no need of %s', bellhop.job_name(n.id))
                else format('need of %s as %s, not %s', bellhop.job_name(n.id), d.wanted, submit.wanted) end
      from unnest(needs) as n (id)
      left join bellhop.dependency d on d.job = old.id and d.needs = n.id
     where (d.job is null or d.wanted is distinct from submit.wanted)
       and exists (select from bellhop.jobqueue j where j.id = n.id)
     order by n.id);
  if differ <> '{}' then
    raise unique_violation using
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  return old.id;
end
$$;

-- release: a held job may run, and so may all that need it, by way of others too; they wait for what they need.
-- Returns the state that the job has now.
create or replace function bellhop.release(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  freed  bigint[];
  needy  bigint[];
  now_is text;
begin
  with recursive way (id) as (
    select release.id
    union
    select d.job from way w join bellhop.dependency d on d.needs = w.id
  ), locked as materialized (
    select j.id from bellhop.jobqueue j join way w on w.id = j.id where j.state = 'held' order by j.id for no key update of j
  ), moved as (
    update bellhop.jobqueue j
       set held = false,
           state = case when j.unmet is not null then 'blocked' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
     where j.id in (select l.id from locked l) and j.state = 'held'
    returning j.id, j.unmet
  )
  select array_agg(m.id), array_agg(m.id order by m.id) filter (where m.unmet is not null) into freed, needy from moved m;
  if needy is not null then
    perform bellhop.ended(w.failed) from bellhop.weigh(needy, false) w; -- some may have failed while they were held
  end if;
  if freed is not null then
    perform bellhop.kick();
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = release.id;
  return now_is;
end
$$;

-- cancel: what waits is cancelled at once; what runs is asked to die and is
-- cancelled when its process tree is dead. A final job stays what it is.
-- Returns the state it has now, NULL when there is no such job.
create or replace function bellhop.cancel(id bigint, now boolean default false) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  was text;
begin
  -- The lock settles the race with a claim or an outcome.
  select j.state into was from bellhop.jobqueue j where j.id = cancel.id for update;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null
     where j.id = cancel.id;
    perform bellhop.ended(array[cancel.id]);
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    return 'cancelled';
  elsif was = 'running' then
    update bellhop.jobqueue j
       set cancel_requested = true, cancel_now = j.cancel_now or cancel.now
     where j.id = cancel.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$$;

-- retry: a final job gets a new attempt; what is over stays in bellhop.attempt. What it needed and got, it does not
-- need again; for what it did not get, it waits. Jobs that wait for this one go on doing so.
-- Returns the state it has now, NULL when there is no such job.
create or replace function bellhop.retry(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  was    bellhop.jobqueue;
  now_is text;
begin
  select * into was from bellhop.jobqueue j where j.id = retry.id for update;
  if was.state is null or was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return was.state;
  end if;
  if was.attempt > 0 and was.started_at is not null then
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes)
    select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
           was.exit_code, was.error, was.successes
    where not exists (select 1 from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
  end if;
  update bellhop.jobqueue j
     set state = 'ready', held = false, run_at = null, max_attempts = greatest(j.max_attempts, j.attempt + 1),
         ended_at = null, exit_code = null, error = null, waiting_for = null, successes = null, instance = null,
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null,
         items_total = null, items_done = null, items_failed = null
   where j.id = retry.id;
  if exists (select from bellhop.dependency d where d.job = retry.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.weigh(array[retry.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = retry.id;
  perform bellhop.kick();
  return now_is;
end
$$;

-- prune: deletes jobs that are over for longer than a time, with what is kept of them, in the order of their ids from
-- past on, `most` at a time; but none that a job which is not over still needs. last is NULL when there are no more.
create function bellhop.prune(older_than interval, states text[], past bigint, most integer, out deleted integer, out last bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
declare
  ids bigint[];
begin
  ids := array(select j.id from bellhop.jobqueue j
                where j.id > past and j.state = any (states) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                  and j.ended_at < clock_timestamp() - older_than
                  and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                   where d.needs = j.id and not d.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                order by j.id limit most
                  for update of j skip locked);
  last := ids[cardinality(ids)];
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics deleted = row_count;
end
$$;

create or replace view bellhop.job as
  select id, type, state, held, priority, priority_name, key, run_on, attempt, max_attempts, deaths, fence, host, child, instance,
         created_at, run_at, started_at, attempt_at, ended_at, exit_code, error, waiting_for, cancel_requested, on_failure, locks, reasons, (msq is not null) as is_msq,
         items_total, items_done, items_failed, traceparent, successes, unmet, ended_by
    from bellhop.jobqueue;

revoke all on function bellhop.submit, bellhop.prune, bellhop.job_name, bellhop.unmet_because, bellhop.ended, bellhop.release_dependents, bellhop.weigh,
                       bellhop.look_again, bellhop.needed_by_way, bellhop.refuse_cycles from public;
do $$
begin
  if not exists (select 1 from pg_roles where rolname = 'bellhop_submitter') then
    return;
  end if;
  grant execute on function bellhop.submit to bellhop_submitter, bellhop_scheduler;
  grant execute on function bellhop.prune to bellhop_operator, bellhop_scheduler;
  grant insert (job, needs, wanted), select (job, needs, wanted) on bellhop.dependency to bellhop_submitter;
  grant select on bellhop.dependency to bellhop_reader;
  grant select, insert, update, delete on bellhop.dependency to bellhop_scheduler;
  grant execute on function bellhop.job_name, bellhop.unmet_because, bellhop.ended, bellhop.release_dependents, bellhop.weigh,
                            bellhop.look_again, bellhop.needed_by_way, bellhop.refuse_cycles to bellhop_scheduler;
end
$$;
