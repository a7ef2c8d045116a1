-- operation_states: the states in which a verb changes a job.
-- Grant: scheduler
create or replace function bellhop.operation_states(verb text) returns text[]
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case verb
    when 'cancel'  then '{held,blocked,scheduled,ready,assigned,running}'::text[]
    when 'kill'    then '{held,blocked,scheduled,ready,assigned,running}'::text[]
    when 'retry'   then '{succeeded,failed,cancelled,quarantined}'::text[]
    when 'release' then '{held,blocked,scheduled,ready}'::text[]
    else '{held,blocked,scheduled,ready}'::text[] end
$$;

-- operation_fits: whether a verb changes such a job: the job is in one of these states, and release is for held jobs,
-- hold for others.
-- Grant: scheduler
create or replace function bellhop.operation_fits(verb text, may text[], state text, held boolean) returns boolean
language sql immutable parallel safe
begin atomic
  select state = any (may) and case verb when 'release' then held when 'hold' then not held else true end;
end;

-- operation_jobs: the jobs behind an id that a filter lets through and a snapshot shows, in the order of ids. Parsed
-- when it is made, so that it is expanded where it is called and a limit there ends the walk. Index: the primary key.
-- Grant: scheduler
create or replace function bellhop.operation_jobs(filter jsonb, plan pg_snapshot, past bigint)
returns table (id bigint, key text, type text, state text, held boolean)
language sql stable
begin atomic
  select j.id, j.key, j.type, j.state, j.held
    from bellhop.jobqueue j
   where j.id > past and pg_catalog.pg_visible_in_snapshot(j.txid, plan) and j.type not in ('command', 'dummy')
     and (filter -> 'id' is null or j.id in (select x::bigint from pg_catalog.jsonb_array_elements_text(filter -> 'id') x))
     and (filter -> 'state' is null or j.state in (select pg_catalog.jsonb_array_elements_text(filter -> 'state')))
     and (filter -> 'type' is null or j.type in (select pg_catalog.jsonb_array_elements_text(filter -> 'type')))
     and (filter -> 'key' is null or pg_catalog.starts_with(j.key, filter ->> 'key'))
     and (filter -> 'error' is null or pg_catalog.strpos(j.error, filter ->> 'error') > 0)
     and (filter -> 'failure' is null or bellhop.masked(j.error) = filter ->> 'failure')
     and (filter -> 'run' is null or j.run = (filter ->> 'run')::bigint)
     and (filter -> 'host' is null or j.host = filter ->> 'host')
     and (filter -> 'created_after' is null or j.created_at >= (filter ->> 'created_after')::timestamptz)
     and (filter -> 'created_before' is null or j.created_at < (filter ->> 'created_before')::timestamptz)
     and (filter -> 'ended_after' is null or j.ended_at >= (filter ->> 'ended_after')::timestamptz)
     and (filter -> 'ended_before' is null or j.ended_at < (filter ->> 'ended_before')::timestamptz)
   order by j.id;
end;

-- operation_role: refuses a caller that is not an operator.
-- Grant: scheduler
create or replace function bellhop.operation_role() returns text
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  if not bellhop.is_operator() then
    raise insufficient_privilege using message = format('permission denied: operations are for operators, and %s is none', bellhop.caller()),
      hint = format('grant bellhop_operator to %I', bellhop.caller());
  end if;
  return bellhop.caller();
end
$$;

-- operation_plan: plans an order for the jobs that a filter lets through now, and counts them. An empty filter is a
-- mistake, unless {"all": true} says that every job is meant. The call also deletes operations that were not started
-- within a week, or have been over for 90 days.
-- Grant: operator scheduler
create or replace function bellhop.operation_plan(verb text, filter jsonb, priority integer default null) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  who     text := bellhop.operation_role();
  may     text[] := bellhop.operation_states(operation_plan.verb);
  snap    pg_snapshot := pg_current_snapshot();
  unknown text;
  counted jsonb;
  over    jsonb;
  few     jsonb;
  hang    jsonb := '{}';
  n       bigint;
  made    bigint;
begin
  select k into unknown from jsonb_object_keys(operation_plan.filter) k
   where k not in ('all', 'id', 'state', 'type', 'key', 'error', 'failure', 'run', 'host', 'created_after', 'created_before', 'ended_after', 'ended_before') limit 1;
  if unknown is not null then
    raise invalid_parameter_value using message = format('a filter has no %L', unknown),
      hint = 'id, state, type, key, error, failure, run, host, created_after, created_before, ended_after, ended_before; all: true for every job';
  elsif operation_plan.filter - 'all' = '{}' and operation_plan.filter -> 'all' is distinct from 'true'::jsonb then
    raise invalid_parameter_value using message = 'an empty filter means every job', hint = 'Say "all": true where that is meant.';
  elsif (operation_plan.verb = 'priority') <> (operation_plan.priority is not null) then
    raise invalid_parameter_value using message = 'priority is for the verb priority, which needs one', hint = '-20 (first) to 19 (last)';
  elsif operation_plan.filter -> 'state' is null then -- retries failed jobs; succeeded ones only when they are named
    operation_plan.filter := operation_plan.filter || jsonb_build_object('state', to_jsonb(case when operation_plan.verb = 'retry' then '{failed,quarantined}'::text[] else may end));
  end if;
  delete from bellhop.operation o
   where o.state = 'planned' and o.planned_at < clock_timestamp() - interval '7 d'
      or o.state in ('stopped', 'done', 'undone') and o.ended_at < clock_timestamp() - interval '90 d';
  insert into bellhop.operation (verb, filter, priority, plan, planned, by_state, skipped, samples, planned_by, actor)
  values (operation_plan.verb, operation_plan.filter, operation_plan.priority, snap, 0, '{}', '{}', '[]', who, bellhop.actor())
  returning id into made;
  -- One look counts, shows and keeps the jobs.
  with found as materialized (
    select j.id, j.key, j.type, j.state, bellhop.operation_fits(operation_plan.verb, may, j.state, j.held) as fits
      from bellhop.operation_jobs(operation_plan.filter, snap, 0) j
  ), kept as (
    insert into bellhop.operation_part (operation, last, ids)
    select made, max(f.id), array_agg(f.id order by f.id)
      from (select j.id, (row_number() over (order by j.id) - 1) / 1000 as part from found j where j.fits) f group by f.part
  )
  select coalesce(jsonb_object_agg(c.state, c.n), '{}'), coalesce(jsonb_object_agg(c.state, c.n - c.fit) filter (where c.n > c.fit), '{}'), coalesce(sum(c.fit), 0),
         (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from (select j.id, j.key, j.type, j.state from found j where j.fits order by j.id limit 20) s)
    into counted, over, n, few
    from (select j.state, count(*) as n, count(*) filter (where j.fits) as fit from found j group by j.state) c;
  -- Not asked if no job waits for another.
  if n > 0 and exists (select from bellhop.dependency d where not d.met) then
    hang := bellhop.dependents(array(select unnest(p.ids) from bellhop.operation_part p where p.operation = made), operation_plan.verb in ('cancel', 'kill'));
  end if;
  update bellhop.operation o set planned = n, by_state = counted, skipped = over, samples = few, dependents = hang where o.id = made;
  perform bellhop.changed('plan', 'operation', made::text, format('%s of %s jobs', operation_plan.verb, n));
  return made;
end
$$;

-- operation_start lets an operation run, or go on; operation_stop ends it after the batch that is under way. NULL:
-- there is none.
-- Grant: operator scheduler
create or replace function bellhop.operation_start(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  who text := bellhop.operation_role();
begin
  update bellhop.operation o
     set state = 'running', started_at = coalesce(o.started_at, clock_timestamp()), ended_at = null, planned_by = who, actor = bellhop.actor(), worked_at = null,
         not_before = case when o.verb = 'kill' then clock_timestamp() + interval '5 s' end
   where o.id = operation_start.id and o.state in ('planned', 'stopped');
  if found then
    perform bellhop.changed('start', 'operation', operation_start.id::text, 'running');
  end if;
  return (select o.state from bellhop.operation o where o.id = operation_start.id);
end
$$;

-- Grant: operator scheduler
create or replace function bellhop.operation_stop(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  perform bellhop.operation_role();
  update bellhop.operation o
     set state = case when o.worked_at > clock_timestamp() - interval '15 s' then 'stopping' else 'stopped' end,
         ended_at = clock_timestamp()
   where o.id = operation_stop.id and o.state in ('planned', 'running', 'stopping');
  if found then
    perform bellhop.changed('stop', 'operation', operation_stop.id::text, o.state) from bellhop.operation o where o.id = operation_stop.id;
  end if;
  return (select o.state from bellhop.operation o where o.id = operation_stop.id);
end
$$;

-- operation_one: carries a verb out on one job, whose row the caller has locked; returns why it could not. Empty:
-- another transaction has locked a dependent job, and this one is to be tried later: a batch waits for no lock longer
-- than a moment.
-- Grant: scheduler
create or replace function bellhop.operation_one(o bellhop.operation, job bigint) returns text
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set lock_timeout = '50ms'
as $$
begin
  case o.verb
    when 'cancel'   then perform bellhop.cancel_job(job);
    when 'kill'     then perform bellhop.cancel_job(job, true);
    when 'retry'    then perform bellhop.retry_job(job);
    when 'release'  then perform bellhop.release_job(job);
    when 'hold'     then perform bellhop.edit_job(job, hold => true);
    when 'priority' then perform bellhop.edit_job(job, priority => o.priority::integer);
  end case;
  return null;
exception
  when lock_not_available then return '';
  when object_not_in_prerequisite_state or insufficient_privilege or program_limit_exceeded then return sqlerrm; -- only this job is refused
end
$$;

-- operation_step: the next batch, in one transaction with the progress: whichever instance dies, nothing is done twice
-- or forgotten. If another transaction has locked a job or its dependents, the job is left, and comes at the end, up to
-- 50 times in a row in vain. Two instances that work on an operation at once wait for each other. Returns the state it
-- has then; waiting: it is running, and there is nothing to do for a moment.
-- Grant: operator scheduler
create or replace function bellhop.operation_step(id bigint, most integer default 1000) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  o      bellhop.operation;
  may    text[];
  ids    bigint[];
  mine   bigint[];
  one    bigint;
  why    text;
  walked boolean;
  rest   integer;
  stuck  integer := 0;
  undo   boolean;
begin
  perform bellhop.operation_role();
  select * into o from bellhop.operation x where x.id = operation_step.id for update;
  if o.state = 'stopping' then
    update bellhop.operation x set state = 'stopped', ended_at = clock_timestamp() where x.id = o.id;
    return 'stopped';
  elsif o.state = 'running' and o.not_before > clock_timestamp() then
    return 'waiting';
  elsif o.state is distinct from 'running' then
    return o.state;
  end if;
  may := bellhop.operation_states(o.verb);
  undo := o.planned <= 10000 and o.verb in ('cancel', 'hold', 'priority');
  ids := array(select i.id from (select p.ids from bellhop.operation_part p where p.operation = o.id and p.last > o.past order by p.last limit 2) p, unnest(p.ids) i (id)
                where i.id > o.past order by i.id limit operation_step.most);
  walked := ids <> '{}';
  o.past := coalesce(ids[cardinality(ids)], o.past);
  rest := cardinality(o.later);
  if not walked then
    ids := o.later[:operation_step.most];
    o.later := o.later[operation_step.most + 1:];
  end if;
  mine := array(select q.id from bellhop.jobqueue q where q.id = any (ids) order by q.id for update skip locked);
  o.later := o.later || array(select i from unnest(ids) i where i <> all (mine) and exists (select from bellhop.jobqueue q where q.id = i));
  -- The jobs as they are now that no other transaction may change them: of the planned ones, those that the filter
  -- still lets through.
  mine := array(select j.id from bellhop.operation_jobs(o.filter, o.plan, 0) j
                 where j.id = any (mine) and bellhop.operation_fits(o.verb, may, j.state, j.held));
  if undo then
    insert into bellhop.operation_job (operation, job, state, held, priority, priority_name)
    select o.id, q.id, q.state, q.held, q.priority, q.priority_name from bellhop.jobqueue q where q.id = any (mine)
    on conflict do nothing;
  end if;
  foreach one in array mine loop
    -- each job waits, and all of them share the time of one statement
    why := case when stuck < 20 then bellhop.operation_one(o, one) else '' end;
    if why is null then
      o.done := o.done + 1;
    elsif why = '' then
      stuck := stuck + 1;
      o.later := o.later || one;
    else
      o.refused := o.refused + 1;
      o.error := format('job %s: %s', one, why);
    end if;
  end loop;
  if undo and o.verb = 'cancel' then
    update bellhop.operation_job u set ended_at = q.ended_at from bellhop.jobqueue q
     where u.operation = o.id and u.job = any (mine) and q.id = u.job and q.state = 'cancelled';
  end if;
  if not walked then
    o.tries := case when cardinality(o.later) < rest then 0 else o.tries + 1 end;
  end if;
  if not walked and (o.later = '{}' or o.tries >= 50) then
    if o.later <> '{}' then
      o.refused := o.refused + cardinality(o.later);
      o.error := format('job %s: another transaction has it, or one that needs it', o.later[1]);
      o.later := '{}';
    end if;
    o.state := 'done';
    delete from bellhop.operation_part p where p.operation = o.id;
  end if;
  update bellhop.operation x
     set past = o.past, later = o.later, tries = o.tries, done = o.done, refused = o.refused, error = o.error, state = o.state,
         worked_at = clock_timestamp(), ended_at = case when o.state = 'done' then clock_timestamp() end
   where x.id = o.id;
  return case when o.state = 'running' and o.tries > 0 then 'waiting' else o.state end;
end
$$;

-- operation_undo: restores the jobs that have not changed since: hold, priority, and the state of jobs that were
-- cancelled before they began. Such a job stays cancelled if others need it, if it needs others that have not ended as
-- wanted, or if another job has its key now. Returns how many; NULL: there is no such operation.
-- Grant: operator scheduler
create or replace function bellhop.operation_undo(id bigint) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  o     bellhop.operation;
  n     bigint := 0;
  mine  bigint[];
  needy bigint[];
begin
  perform bellhop.operation_role();
  select * into o from bellhop.operation x where x.id = operation_undo.id for update;
  if o.id is null then
    return null;
  elsif o.state not in ('done', 'stopped') or o.verb not in ('cancel', 'hold', 'priority') or o.planned > 10000 then
    raise object_not_in_prerequisite_state using message = format('operation %s cannot be undone: it is %s, %s, for %s jobs', o.id, o.verb, o.state, o.planned),
      hint = 'cancel, hold and priority can, when they are over, up to 10000 jobs';
  end if;
  mine := array(select q.id from bellhop.jobqueue q join bellhop.operation_job u on u.job = q.id and u.operation = o.id order by q.id for update of q skip locked);
  if o.verb = 'hold' then
    with freed as (
      update bellhop.jobqueue q set held = false,
             state = case when q.unmet is not null then 'blocked' when q.run_at > clock_timestamp() then 'scheduled' else 'ready' end
        from bellhop.operation_job u
       where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.held and not u.held and q.state = 'held'
      returning q.id, q.unmet
    )
    select count(*), array_agg(f.id order by f.id) filter (where f.unmet is not null) into n, needy from freed f;
    if needy is not null then
      perform bellhop.ended(w.failed) from bellhop.resolve(needy, false) w; -- some may have failed while they were held
    end if;
  elsif o.verb = 'priority' then
    update bellhop.jobqueue q set priority = u.priority, priority_name = u.priority_name, behind = null
      from bellhop.operation_job u
     where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.priority = o.priority and q.priority_name is null
       and q.state in ('held', 'blocked', 'scheduled', 'ready');
    get diagnostics n = row_count;
  else
    update bellhop.jobqueue q set state = case when u.held then 'held' when q.run_at > clock_timestamp() then 'scheduled' else 'ready' end,
           ended_at = null, cancel_requested = false, cancel_now = false, killed_by = null, behind = null
      from bellhop.operation_job u
     where u.operation = o.id and u.job = q.id and q.id = any (mine) and q.state = 'cancelled' and q.ended_at = u.ended_at
       and u.state in ('held', 'scheduled', 'ready') and q.run is null
       and not exists (select from bellhop.dependency d where d.needs = q.id)
       and not exists (select from bellhop.dependency d where d.job = q.id and not d.met)
       and coalesce(q.key not like '%#' || q.id, true)
       and not exists (select from bellhop.attached x where x.job = q.id);
    get diagnostics n = row_count;
  end if;
  update bellhop.operation x set state = 'undone', undone = n where x.id = o.id;
  perform bellhop.changed('undo', 'operation', o.id::text, format('%s jobs as they were', n));
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  return n;
end
$$;

-- seen_operation: operations as readers see them: without an agent's words by which jobs were chosen.
create or replace view bellhop.seen_operation with (security_barrier) as
  select o.id, o.verb,
         case when (select bellhop.is_operator()) then o.filter
              else o.filter || coalesce((select jsonb_object_agg(k, '…') from unnest('{error,failure}'::text[]) k where o.filter ? k), '{}') end as filter,
         o.priority, o.state, o.planned, o.by_state, o.skipped, o.samples, o.planned_by, o.planned_at, o.started_at, o.ended_at, o.worked_at,
         o.done, o.refused, o.undone, o.error, o.dependents,
         o.actor
    from bellhop.operation o;

revoke all on bellhop.seen_operation from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    revoke select on bellhop.operation from bellhop_reader;
    grant select on bellhop.seen_operation to bellhop_reader, bellhop_scheduler;
  end if;
end
$$;
