-- Workers: sessions of apps that take jobs, without an instance. The instance of their claims is 0, and lease_until tells
-- for how long they have a job. finish and fail also end jobs that an instance runs, in the agent's own transaction.

-- works_for: whether the caller may take and finish jobs of a type: by a row of bellhop.worker_type for it or for a role of
-- which it is a member, or because it schedules. Index: worker_type's primary key.
-- In PL/pgSQL, whose sessions keep plans: a function in SQL that nothing can inline is planned at each call.
-- Grant: worker scheduler
create or replace function bellhop.works_for(type text) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if has_table_privilege(bellhop.caller(), 'bellhop.jobqueue', 'update') then
    return true;
  end if;
  return exists (select from bellhop.worker_type w
                  where w.type = works_for.type
                    and (w.login = bellhop.caller()
                      or (select pg_has_role(bellhop.caller(), r.oid, 'member') from pg_roles r where r.rolname = w.login)));
end
$$;

-- refuse_worker: raises an error if the caller may not have jobs of the type.
-- Grant: scheduler
create or replace function bellhop.refuse_worker(type text) returns void
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if not bellhop.works_for(type) then
    raise insufficient_privilege using
      message = format('permission denied: %s may not have jobs of type %s', bellhop.caller(), type),
      hint = format('An operator allows it: insert into bellhop.worker_type values (%L, %L)', bellhop.caller(), type);
  end if;
end
$$;

-- pause_after: how long a job rests after its attempt of this number failed, as the instances tell of its type
-- (scheduler.RetryPolicy.Pause).
-- Grant: scheduler
create or replace function bellhop.pause_after(type text, attempt integer, jitter float8 default random()) returns interval
language sql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select least(p.pauses[1] * power(p.pauses[3]::float8, least(attempt - 1, 60)), p.pauses[2]) * (1 + p.pauses[4] * jitter) * interval '1 s'
    from (select coalesce((select a.pauses from bellhop.agent a where a.type = pause_after.type order by a.instance desc limit 1),
                          '{1,300,2,0.5}'::real[]) as pauses) p
$$;

-- refuse_run: raises BH004 if this row of the job does not run under this fence. A caller without a right to the type is
-- refused before it learns anything of the job.
-- Grant: scheduler
create or replace function bellhop.refuse_run(j bellhop.jobqueue, job bigint, fence bigint) returns void
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if j.id is not null then
    perform bellhop.refuse_worker(j.type);
  end if;
  if j.id is null or j.fence is distinct from refuse_run.fence or j.state not in ('running', 'assigned') then
    raise exception using errcode = 'BH004', message = format('job %s does not run under fence %s', refuse_run.job, refuse_run.fence),
      detail = case when j.id is null then 'There is no such job.' else format('It is %s under fence %s.', j.state, j.fence) end,
      hint = 'This run was replaced, cancelled or finished: undo its work (ROLLBACK), and take the next job.';
  elsif j.msq is not null then
    raise feature_not_supported using message = format('job %s is a query, and ends when its items have', refuse_run.job),
      hint = 'Call bellhop.finish_item(job, fence, item) in the transaction of each item, and answer its line with OK.';
  end if;
end
$$;

-- own_run: the job's row, locked, if it runs under this fence; if it does not, refuse_run ends the transaction.
-- Grant: scheduler
create or replace function bellhop.own_run(job bigint, fence bigint) returns bellhop.jobqueue
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue;
begin
  select q.* into j from bellhop.jobqueue q where q.id = own_run.job for no key update;
  perform bellhop.refuse_run(j, own_run.job, own_run.fence);
  return j;
end
$$;

-- refuse_result: raises an error if a job cannot have this result.
-- Grant: scheduler
create or replace function bellhop.refuse_result(job bigint, result jsonb) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(refuse_result.result::text) > 1048576 then
    raise program_limit_exceeded using message = format('the result of job %s has %s bytes, and may have 1048576', refuse_result.job, octet_length(refuse_result.result::text)),
      hint = 'Store it in a table of your own, and return its key.';
  end if;
end
$$;

-- finish: the job has succeeded, if this transaction commits. A run that was replaced raises BH004, and nothing of the
-- transaction stays. The agent may say OK afterwards: that is confirmed, and changes nothing. Index: the primary key.
-- Grant: worker scheduler
create or replace function bellhop.finish(job bigint, fence bigint, result jsonb default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  perform bellhop.refuse_result(finish.job, finish.result);
  perform bellhop.end_well(array[finish.job], array[finish.fence], array[finish.result]);
end
$$;

-- finish_all: these jobs have succeeded, if this transaction commits: as finish does for each, in less time. Results are
-- in the order of the jobs; NULL: none has one. If one of the runs was replaced, BH004 is raised, and nothing of the
-- transaction stays. Index: the primary key.
-- Grant: worker scheduler
create or replace function bellhop.finish_all(jobs bigint[], fences bigint[], results jsonb[] default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if coalesce(cardinality(jobs) not between 1 and 1000, true) or cardinality(fences) is distinct from cardinality(jobs)
     or cardinality(results) <> cardinality(jobs) or (select count(distinct u.job) from unnest(jobs) as u (job)) <> cardinality(jobs) then
    raise invalid_parameter_value using message = 'finish_all wants 1 to 1000 different jobs, a fence for each, and a result for each or none',
      hint = $h$select bellhop.finish_all('{17,18}', '{1790000000001,1790000000002}', array['{"ok":true}', null]::jsonb[])$h$;
  end if;
  perform bellhop.refuse_result(u.job, u.result) from unnest(jobs, results) as u (job, result) where u.result is not null;
  perform bellhop.end_well(jobs, fences, results);
end
$$;

-- finish_item: an item of a query is done, if this transaction commits. `item` names it among the items of the job. Returns
-- false if an earlier run of the query has done it: then the transaction has nothing to write. Two runs of one item
-- meet at the primary key, where the later one waits for the earlier one. Index: the primary keys.
-- Grant: worker scheduler
create or replace function bellhop.finish_item(job bigint, fence bigint, item text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue;
begin
  -- The weakest lock: the job's counts are written meanwhile, and its row is not deleted.
  select q.* into j from bellhop.jobqueue q where q.id = finish_item.job for key share;
  if found then
    perform bellhop.refuse_worker(j.type);
  end if;
  if j.id is null or j.fence is distinct from finish_item.fence or j.state not in ('running', 'assigned') then
    raise exception using errcode = 'BH004', message = format('job %s does not run under fence %s', finish_item.job, finish_item.fence),
      hint = 'This run was replaced, cancelled or finished: undo its work (ROLLBACK), and take the next line.';
  elsif j.msq is null then
    raise object_not_in_prerequisite_state using message = format('job %s has no items', finish_item.job),
      hint = format('select bellhop.finish(%s, %s)', finish_item.job, finish_item.fence);
  elsif coalesce(octet_length(finish_item.item) not between 1 and 1000, true) then
    raise invalid_parameter_value using message = 'an item has a name of 1 to 1000 bytes',
      hint = format('select bellhop.finish_item(%s, %s, %L)', finish_item.job, finish_item.fence, 'order 42');
  end if;
  insert into bellhop.item_done (job, item) values (finish_item.job, finish_item.item) on conflict do nothing;
  return found;
end
$$;

-- fail: this attempt has failed, if this transaction commits. The job is tried again as its type says, or after retry; a
-- negative retry: never again. A run that was replaced raises BH004. Returns the state that the job has now.
-- Grant: worker scheduler
create or replace function bellhop.fail(job bigint, fence bigint, error text, retry interval default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue := bellhop.own_run(fail.job, fail.fence);
begin
  return bellhop.end_badly(j, left(fail.error, 10000), fail.retry);
end
$$;

-- end_well: these jobs, of which none stands twice, have succeeded, as when instances say so (../queries/settle.sql).
-- results are in their order; NULL: none. Raises an error if the caller may not have one of the types, or if a run was
-- replaced: then nothing stays. Guard: each runs under its fence, and is not a query; in the order of their ids, so that
-- two calls cannot wait for each other. Indexes: the primary keys.
-- Grant: scheduler
create or replace function bellhop.end_well(jobs bigint[], fences bigint[], results jsonb[]) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set plan_cache_mode = force_generic_plan -- else it is planned at each call
set enable_seqscan = off -- a plan is kept, though the table grows
set enable_bitmapscan = off
as $$
declare
  ended bigint[];
  types text[];
  other bigint;
  fence bigint;
  j     bellhop.jobqueue;
begin
  with o as (
    update bellhop.jobqueue q
       set state = 'succeeded', ended_at = clock_timestamp(), started_at = coalesce(q.started_at, clock_timestamp()), exit_code = 0, error = null,
           reason = null, lease_until = null, result = u.result, waiting_for = null
      from (select x.job, x.fence, x.result from unnest(jobs, fences, results) as x (job, fence, result) order by x.job) u
     where q.id = any (jobs) and q.id = u.job -- the list makes an index the only way, whatever size the table had
       and q.fence = u.fence and q.state || '' in ('running', 'assigned') and q.msq is null
    returning q.id, q.type, q.attempt, q.fence, q.instance, q.host, q.child, q.attempt_at, q.started_at, q.spawned_at
  ), kept as (
    -- Kept also for an instance, which is still to hear how its agent ended (../queries/settled_already.sql).
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, spawned_at, own)
    select o.id, o.attempt, o.fence, o.host, o.child, coalesce(o.attempt_at, o.started_at), clock_timestamp(), 0, o.spawned_at, true
      from o where o.attempt > 1 or o.instance <> 0
        on conflict do nothing
  )
  select array_agg(o.id), array_agg(distinct o.type) into ended, types from o;
  perform bellhop.refuse_worker(t) from unnest(types) t;
  if cardinality(ended) is distinct from cardinality(jobs) then
    for other, fence in select u.job, u.fence from unnest(jobs, fences) as u (job, fence) where u.job <> all (coalesce(ended, '{}')) order by 1 loop
      select q.* into j from bellhop.jobqueue q where q.id = other; -- not locked: another transaction may wait for this one
      perform bellhop.refuse_run(j, other, fence);
    end loop;
    raise serialization_failure using message = 'a job was changed while it ended', hint = 'Undo this transaction, and try it again.';
  end if;
  perform bellhop.ended(jobs);
  perform bellhop.ring_over(ended);
end
$$;
drop function if exists bellhop.end_well(bigint[], jsonb[]); -- of earlier versions

-- ring_over: clients that wait for the ends of these jobs hear them with the commit, in payloads of at most 400 ids.
-- Grant: scheduler
create or replace function bellhop.ring_over(jobs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  for i in 1 .. cardinality(jobs) by 400 loop
    perform pg_notify('bellhop_over', array_to_string(jobs[i : i + 399], ','));
  end loop;
end
$$;

-- end_badly: records that an attempt failed, as the instances do (../queries/settle.sql): the caller has locked the row.
-- The job is tried again after `pause` (NULL: as its type says; negative: never). Returns the job's state.
-- Grant: scheduler
create or replace function bellhop.end_badly(j bellhop.jobqueue, error text, pause interval) returns text
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  now_is  text := 'failed';
  allowed integer := j.max_attempts;
  fault   text := end_badly.error;
begin
  if j.cancel_requested then
    now_is := case when j.killed_by is null then 'cancelled' else 'failed' end;
    fault := coalesce('killed: by ' || j.killed_by, fault);
  else
    if j.own_attempts is not true and allowed = 1 then
      allowed := coalesce((select max(a.attempts) from bellhop.agent a where a.type = j.type), 1);
    end if;
    if j.attempt < allowed and coalesce(pause >= interval '0', true) then
      now_is := 'scheduled';
      pause := coalesce(pause, bellhop.pause_after(j.type, j.attempt));
    end if;
  end if;
  update bellhop.jobqueue q
     set state = now_is, ended_at = case when now_is <> 'scheduled' then clock_timestamp() end,
         started_at = coalesce(q.started_at, clock_timestamp()),
         run_at = case when now_is = 'scheduled' then clock_timestamp() + pause else q.run_at end,
         exit_code = null, error = fault, reason = null, lease_until = null, result = null,
         progress = case when now_is <> 'scheduled' then q.progress end,
         progress_text = case when now_is <> 'scheduled' then q.progress_text end,
         waiting_for = case when now_is = 'scheduled' then 'retry_delay' end
   where q.id = j.id;
  insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, error, spawned_at, own)
  values (j.id, j.attempt, j.fence, j.host, j.child, coalesce(j.attempt_at, j.started_at, clock_timestamp()), clock_timestamp(), fault, j.spawned_at, true)
  on conflict do nothing;
  if now_is = 'scheduled' then
    perform pg_notify('bellhop_due', '');
  else
    perform bellhop.ended(array[j.id]);
    perform pg_notify('bellhop_over', j.id::text);
  end if;
  return now_is;
end
$$;
drop function if exists bellhop.end_run(bellhop.jobqueue, text, jsonb, text, interval); -- of earlier versions

-- expire_leases: ends the runs of workers that have not renewed their leases, at most this many. Such a run is lost, and
-- counts as no attempt; one that has passed its job's timeout has failed. Rows that another transaction has locked are
-- left. Returns how many. Index: jobqueue_taken, as many rows as workers have.
-- Grant: scheduler
create or replace function bellhop.expire_leases(most integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j     bellhop.jobqueue;
  n     integer := 0;
  over  bigint[] := '{}';
  ready boolean := false;
begin
  for j in
    select q.* from bellhop.jobqueue q
     where q.instance = 0 and q.state in ('assigned', 'running') and q.lease_until <= clock_timestamp()
     limit most
       for no key update skip locked
  loop
    n := n + 1;
    if coalesce(j.attempt_at, j.started_at) + j.timeout <= clock_timestamp() then
      perform bellhop.end_badly(j, format('timeout: it has run for longer than %s', j.timeout), null);
      continue;
    end if;
    update bellhop.jobqueue q
       set state = case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled' else 'ready' end,
           error = case when j.cancel_requested and j.killed_by is not null then 'killed: by ' || j.killed_by else q.error end,
           ended_at = case when j.cancel_requested then clock_timestamp() end,
           attempt = q.attempt - 1, instance = null, host = null, child = null, attempt_at = null, waiting_for = null, lease_until = null,
           progress = null, progress_text = null, lost = q.lost + 1
     where q.id = j.id;
    insert into bellhop.lost_run (job, n, attempt, fence, host, child, instance, spawned_at, started_at, reason)
    values (j.id, j.lost + 1, j.attempt, j.fence, j.host, j.child, 0, null, coalesce(j.attempt_at, j.started_at),
            format('%s did not renew its lease', j.host))
    on conflict do nothing;
    delete from bellhop.lost_run l where l.job = j.id and l.n <= j.lost + 1 - 20;
    insert into bellhop.log (job, attempt, level, line)
    values (j.id, j.attempt, 'note', format('lost: %s did not renew its lease; given back, and not counted as an attempt', j.host));
    if j.cancel_requested then
      over := over || j.id;
    else
      ready := true;
    end if;
  end loop;
  if over <> '{}' then
    perform bellhop.ended(over);
    perform bellhop.ring_over(over);
  end if;
  if ready then
    perform bellhop.kick();
  end if;
  return n;
end
$$;

-- renew: the lease of a job that this session took begins again, and ends no later than the job's timeout. It tells
-- whether the job is asked to stop: then end it with fail. A run that was replaced raises BH004.
-- Grant: worker scheduler
create or replace function bellhop.renew(job bigint, fence bigint, lease interval default '1 min', progress real default null,
                                         progress_text text default null, out until timestamptz, out cancel boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue := bellhop.own_run(renew.job, renew.fence);
begin
  if j.instance is distinct from 0 then
    raise object_not_in_prerequisite_state using message = format('job %s was not taken: instance %s runs it, and renews its own lease', renew.job, j.instance);
  elsif coalesce(lease not between interval '1 s' and interval '1 day', true) or progress not between 0 and 1 then
    raise invalid_parameter_value using message = 'renew wants a lease from 1 s to 1 day, and a progress from 0 to 1';
  end if;
  until := least(clock_timestamp() + lease, coalesce(j.attempt_at, j.started_at) + j.timeout);
  cancel := j.cancel_requested;
  update bellhop.jobqueue q
     set lease_until = until, progress = coalesce(renew.progress, q.progress), progress_text = coalesce(left(renew.progress_text, 1000), q.progress_text)
   where q.id = j.id;
end
$$;

-- keep_house: what instances do about once a second, for databases without one: leases and times that are over, jobs that
-- are due, events and dependencies that are not counted. Returns how many jobs changed.
-- Grant: scheduler
create or replace function bellhop.keep_house() returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  n integer;
begin
  n := bellhop.expire_leases(1000) + (select d.n from bellhop.make_due() d) + (select e.expired from bellhop.expire(1000) e)
    + (select l.n from bellhop.look_for_events(1000) l);
  if exists (select from bellhop.dependency d where not d.counted) then
    n := n + (select l.looked from bellhop.look_again(1000) l);
  end if;
  n := n + bellhop.find_shares();
  return n;
end
$$;

-- claim_for_worker: the claim of take, as ../queries/claim.sql; of types with shares, as claim_shared. Guard: startable, not
-- paused, of a type without locks of its agents; locked rows belong to other transactions. Indexes: jobqueue_ready, one
-- range for each type; the primary key; those of pick_shared.
-- Grant: scheduler
create or replace function bellhop.claim_for_worker(types text[], n integer, lease interval)
returns table (id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamptz, stepped boolean)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set jit = off -- else the server compiles the statement for 25 ms when many rows wait
set plan_cache_mode = force_generic_plan -- else they are planned at each call, which takes longer than they do
set enable_seqscan = off -- a plan is kept, though the table grows
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  free  text[];
  picks bigint[];
  floor_ bigint := (select e.floor from bellhop.era() e);
begin
  free := array(
    select t.type from unnest(claim_for_worker.types) as t (type)
     where not exists (select from bellhop.paused p where p.type in ('', t.type))
       -- The agents' locks hold for all of the type's jobs, and a worker gets none.
       and not exists (select from bellhop.agent a join bellhop.instance i on i.id = a.instance and i.state = 'live'
                        where a.type = t.type and a.locks <> '{}'));
  if exists (select from unnest(free) as t (type) where bellhop.has_shares(t.type)) then
    picks := bellhop.pick_shared(free, array_fill(claim_for_worker.n, array[cardinality(free)]), '{}', array_fill(19, array[cardinality(free)]),
                                 array_fill(false, array[cardinality(free)]), false, claim_for_worker.n);
    perform set_config('bellhop.share_came', '', true); -- what comes later in this transaction, comes again
  else
    picks := array(
      select q.id
        from unnest(free) as t (type)
       cross join lateral (
         select r.id, r.priority
           from bellhop.startable r
          where r.type = t.type and r.run_on is null and r.msq is null
          order by r.priority, r.id
          limit claim_for_worker.n
            for update skip locked) q
       order by q.priority, q.id
       limit claim_for_worker.n);
  end if;
  return query
    with taken as (
      update bellhop.jobqueue j
         set state = 'running', instance = 0, host = 'worker ' || bellhop.caller(), child = pg_backend_pid()::text,
             fence = greatest(j.fence + 1, floor_), attempt = j.attempt + 1,
             attempt_at = case when j.started_at is not null then clock_timestamp() end,
             spawned_at = null, started_at = coalesce(j.started_at, clock_timestamp()), waiting_for = null,
             lease_until = clock_timestamp() + least(claim_for_worker.lease, j.timeout)
       where j.id = any (picks)
      returning j.*
    )
    select t.id, t.fence, t.attempt, t.type, t.args, t.key, t.vars, t.share, coalesce(t.attempt_at, t.started_at) + t.timeout, t.stepped
      from unnest(picks) with ordinality as p (id, n) join taken t on t.id = p.id order by p.n;
end
$$;

-- claim_with_steps: claim_for_worker, and what is kept of the jobs that have steps: by name, and the event that came.
-- In PL/pgSQL, whose sessions keep plans: a function in SQL that nothing can inline is planned at each call.
-- Grant: scheduler
create or replace function bellhop.claim_with_steps(types text[], n integer, lease interval)
returns table (id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamptz, steps jsonb, event jsonb)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select c.id, c.fence, c.attempt, c.type, c.args, c.key, c.vars, c.share, c.deadline, k.kept -> 'steps', k.kept -> 'event'
    from bellhop.claim_for_worker(types, n, lease) c
   cross join lateral (select case when c.stepped then bellhop.steps_of(c.id) end as kept offset 0) k;
end
$$;

-- open_gate: this session is awake: producers need not ring for it. ../../docs/waking.md tells of the gate.
-- Grant: scheduler
create or replace function bellhop.open_gate() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('bellhop.asleep', true) = 'on' then
    perform pg_advisory_unlock(7090192401229115393);
    perform set_config('bellhop.asleep', '', false);
  end if;
end
$$;

-- close_gate: producers ring from now on: this session has the gate, or another one has it. If neither is so after 0.1 s,
-- a producer that found the gate open is still under way, and the caller looks again after a second.
-- Grant: scheduler
create or replace function bellhop.close_gate() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
declare
  mine     boolean;
  anothers boolean;
begin
  -- An aborted transaction takes the setting back, and leaves the lock.
  select bool_or(l.pid = pg_backend_pid()), bool_or(l.pid <> pg_backend_pid()) into mine, anothers
    from pg_locks l
   where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.mode = 'ExclusiveLock'
     and l.database = (select d.oid from pg_database d where d.datname = current_database())
     and l.classid::bigint = (7090192401229115393::bigint >> 32) and l.objid::bigint = (7090192401229115393::bigint & 4294967295);
  if mine or anothers is not true and bellhop.wait_for_gate(7090192401229115393) then
    perform set_config('bellhop.asleep', 'on', false);
  end if;
end
$$;

-- take: gives this session up to n jobs of these types, which are its own for the time of the lease, in (priority, id).
-- No rows: nothing is ready. Then wait for NOTIFY bellhop_work, and for a second at most: a lease may end, or a time come.
-- Jobs with locks, queries and jobs that name a place are left to instances. Indexes: jobqueue_ready, one range for each
-- type; the primary key.
-- Grant: worker scheduler
create or replace function bellhop.take(types text[], n integer default 1, lease interval default '1 min')
returns table (id bigint, fence bigint, attempt integer, type text, args text, key text, vars jsonb, share text, deadline timestamptz, steps jsonb, event jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  if n not between 1 and 1000 or lease not between interval '1 s' and interval '1 day' or coalesce(cardinality(types) not between 1 and 100, true)
     or array_position(types, null) is not null or n is null or lease is null then
    raise invalid_parameter_value using message = 'take wants 1 to 100 types, 1 to 1000 jobs, and a lease from 1 s to 1 day',
      hint = $h$select * from bellhop.take('{mail}', 10, '1 min')$h$;
  end if;
  perform bellhop.refuse_worker(t) from unnest(types) t;
  perform bellhop.open_gate();
  if random() < 0.02 then
    perform bellhop.expire_leases(1000);
  end if;
  return query select * from bellhop.claim_with_steps(types, n, lease);
  if found then
    return;
  end if;
  if bellhop.keep_house() > 0 then
    return query select * from bellhop.claim_with_steps(types, n, lease);
    if found then
      return;
    end if;
  end if;
  -- This session falls asleep, as an instance does: producers ring from now on, and a last look finds the jobs of those
  -- that did not.
  perform bellhop.close_gate();
  return query select * from bellhop.claim_with_steps(types, n, lease);
end
$$;
