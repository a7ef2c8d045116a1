-- Steps: what an attempt of a job has done is kept for its later attempts. Jobs sleep, or await an event, as rows: without
-- a slot, a process or a lease. ../../docs/steps.md tells how they are used.

-- step: what is kept of jobs. A submitter sees its own jobs' steps, an operator all; other readers see no outputs.
create or replace view bellhop.step with (security_barrier) as
  select s.job, s.name,
         case when (select bellhop.is_operator()) or q.submitted_by = any ((select bellhop.own_roles())::text[]) then s.output end as output,
         s.at
    from bellhop.saved_step s
    join bellhop.jobqueue q on q.id = s.job
   where (select bellhop.is_reader()) or q.submitted_by = any ((select bellhop.own_roles())::text[]);
revoke all on bellhop.step from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.step to bellhop_submitter, bellhop_reader, bellhop_scheduler;
  end if;
end
$$;

-- kept_fault: why an output cannot be kept under a name; NULL: it can.
-- Grant: scheduler
create or replace function bellhop.kept_fault(name text, output jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when coalesce(name !~ '^[^[:cntrl:]]{1,200}$', true) then 'a step wants a name of 1 to 200 characters on one line'
              when name ~ '^(sleep|event|children)[.]' then format('the name %s is bellhop''s own: it keeps sleeps, events and children under such names', name)
              when octet_length(output::text) > 1048576
                then format('the output of step %s has %s bytes, and may have 1048576; put it into a table, and keep its key', name, octet_length(output::text)) end
$$;

-- keep_counted_steps: keeps steps of jobs whose rows the caller has locked. It gives the places of those that are kept
-- now, from 1, with the number of steps that their job has then, and the bytes of its outputs. had and sizes are those
-- of each job before; NULL: they are counted, which takes longer the more steps there are. A job has at most 1,000 steps, and 16 MiB of outputs.
-- refuse_step tells why a step has no place. Index: the primary keys of saved_step and jobqueue.
-- Grant: scheduler
create or replace function bellhop.keep_counted_steps(jobs bigint[], names text[], outputs jsonb[], had integer[], sizes bigint[])
returns table (place integer, has integer, size bigint)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
set plan_cache_mode = force_generic_plan -- else it is planned at each call, which takes twice the time of a step
set enable_seqscan = off -- a plan is kept, though the table grows
set enable_bitmapscan = off
as $$
begin
  return query
  with told as materialized (
    select u.job, u.name, u.n::integer as n, coalesce(u.output, 'null') as output, octet_length(coalesce(u.output, 'null')::text) as bytes,
           row_number() over w as nth, sum(octet_length(coalesce(u.output, 'null')::text)) over w as sum, coalesce(u.had, c.n) as had, coalesce(u.size, c.size) as size
      from unnest(jobs, names, outputs, keep_counted_steps.had, sizes) with ordinality as u (job, name, output, had, size, n)
     cross join lateral (select count(*) as n, coalesce(sum(s.bytes), 0) as size from bellhop.saved_step s where s.job = u.job and (u.had is null or u.size is null)) c
     -- The usual name is known by a look: a call for each step took a sixth of it.
     where case when u.name ~ '^[a-z0-9_ -]{1,200}$' and octet_length(u.output::text) <= 1048576 then true
                else bellhop.kept_fault(u.name, coalesce(u.output, 'null')) is null end
    window w as (partition by u.job order by u.n)
  ), kept as (
    insert into bellhop.saved_step (job, name, output, bytes)
    select t.job, t.name, t.output, t.bytes
      from told t
     where t.had + t.nth <= 1000 and t.size + t.sum <= 16777216
        on conflict on constraint saved_step_pkey do nothing
    returning saved_step.job, saved_step.name
  ), stepped as (
    update bellhop.jobqueue q set stepped = true from kept k where q.id = any (jobs) and q.id = k.job and q.stepped is not true
  )
  select min(t.n), max(t.had + t.nth)::integer, max(t.size + t.sum)::bigint from told t join kept k on k.job = t.job and k.name = t.name group by k.job, k.name;
end
$$;

-- keep_steps: keep_counted_steps of jobs whose steps the caller does not know; gives the places alone.
-- Grant: scheduler
create or replace function bellhop.keep_steps(jobs bigint[], names text[], outputs jsonb[]) returns setof integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  return query select k.place from bellhop.keep_counted_steps(jobs, names, outputs, null, null) k;
end
$$;

drop function if exists bellhop.keep_step(bellhop.jobqueue, text, jsonb); -- of earlier versions

-- refuse_step: raises an error that tells why a step of a job was not kept. The same step with the same output is kept
-- already: no error. Another output is BH005. Index: saved_step's primary key.
-- Grant: scheduler
create or replace function bellhop.refuse_step(job bigint, name text, output jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  fault text := bellhop.kept_fault(refuse_step.name, coalesce(refuse_step.output, 'null'));
  was   jsonb;
  n     bigint;
  size  bigint;
begin
  if fault is not null then
    raise invalid_parameter_value using message = fault;
  end if;
  select s.output into was from bellhop.saved_step s where s.job = refuse_step.job and s.name = refuse_step.name;
  if was = coalesce(refuse_step.output, 'null') then
    return;
  elsif was is not null then
    raise exception using errcode = 'BH005', message = format('job %s has kept step %s with another output', refuse_step.job, refuse_step.name),
      hint = 'Use what is kept (bellhop.step), give the other step another name, or forget it once the job has ended: select bellhop.retry_from(job, step).';
  end if;
  select count(*) + 1, coalesce(sum(s.bytes), 0) + octet_length(coalesce(refuse_step.output, 'null')::text) into n, size
    from bellhop.saved_step s where s.job = refuse_step.job;
  raise program_limit_exceeded using message = format('job %s would keep %s steps and %s bytes with step %s; it may keep 1000, and 16777216', refuse_step.job, n, size, refuse_step.name),
    hint = 'Make fewer steps, keep large outputs in a table of your own, or submit parts as jobs of their own.';
end
$$;

-- save_step: later attempts of the job know that this step is done, and its output, if this transaction commits. The
-- same again changes nothing, another output is BH005, and a run that was replaced raises BH004.
-- Grant: worker scheduler
create or replace function bellhop.save_step(job bigint, fence bigint, name text, output jsonb default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue := bellhop.own_run(save_step.job, save_step.fence);
begin
  perform bellhop.keep_steps(array[j.id], array[save_step.name], array[save_step.output]);
  if not found then
    perform bellhop.refuse_step(j.id, save_step.name, save_step.output);
  end if;
end
$$;

-- steps_of: what the line of a job that has just begun says of earlier attempts: {"steps": name → output} and, if it
-- awaited an event last, {"event": payload} or {"event": null, "timed_out": true}. What came of that is kept as the step
-- event.NAME from now on. Index: the primary keys of saved_step, awaits and emitted.
-- Grant: scheduler
create or replace function bellhop.steps_of(job bigint) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  a    bellhop.awaits;
  came jsonb;
begin
  update bellhop.saved_step s -- the ends of children become part of the step when the next run begins
     set output = x.ends, bytes = octet_length(x.ends::text)
    from (select k.name, bellhop.children_ends(k.output) as ends from bellhop.saved_step k
           where k.job = steps_of.job and k.name ~ '^children[.][0-9]+$' and not k.output -> 0 ? 'state') x
   where s.job = steps_of.job and s.name = x.name;
  select * into a from bellhop.awaits w where w.job = steps_of.job;
  if a.job is not null and not a.told then
    update bellhop.awaits w set told = true, waits = false, counted = true where w.job = steps_of.job;
    select jsonb_build_object('payload', e.payload) into came from bellhop.emitted e where e.event = a.event;
    came := coalesce(came, '{"timed_out": 1}');
    insert into bellhop.saved_step as s (job, name, output, bytes)
    values (steps_of.job, 'event.' || a.event, came, octet_length(came::text))
    on conflict on constraint saved_step_pkey do update
      set at = excluded.at, bytes = excluded.bytes,
          output = case when s.output ? 'timed_out' and excluded.output ? 'timed_out'
                          then jsonb_build_object('timed_out', (s.output ->> 'timed_out')::integer + 1) else excluded.output end;
  end if;
  return (select jsonb_build_object('steps', coalesce(jsonb_object_agg(s.name, s.output), '{}'))
                 || coalesce((select case when e.output ? 'payload' then jsonb_build_object('event', e.output -> 'payload')
                                          else '{"event": null, "timed_out": true}' end
                                from bellhop.saved_step e where e.job = a.job and e.name = 'event.' || a.event), '{}')
            from bellhop.saved_step s where s.job = steps_of.job);
end
$$;

-- rest: this run of the job ends now, and counts as no attempt; the job runs again at a time, or when the event comes
-- (NULL: it sleeps), or when its children have ended. keep: its locks stay its own until then. by: the submitter of its
-- children. The caller has locked the row. A job that is asked to stop is over instead. Returns its state.
-- Guard: an event that is emitted meanwhile is found by look_for_events. Index: the primary keys; lock_grant is small.
-- Grant: scheduler
create or replace function bellhop.rest(
  j bellhop.jobqueue, until timestamptz, event text, keep boolean default false, children jsonb default null, by text default null
) returns text
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  now_is text := case when j.cancel_requested and j.killed_by is not null then 'failed' when j.cancel_requested then 'cancelled'
                      when rest.children is not null then 'blocked' else 'scheduled' end;
  kept   jsonb;
begin
  delete from bellhop.awaits w where w.job = j.id;
  if now_is = 'scheduled' and rest.event is null then
    kept := jsonb_build_object('until', rest.until);
    insert into bellhop.saved_step (job, name, output, bytes)
    select j.id, 'sleep.' || count(*) + 1, kept, octet_length(kept::text) from bellhop.saved_step s where s.job = j.id and s.name ~ '^sleep[.][0-9]+$';
  elsif now_is = 'scheduled' then
    insert into bellhop.awaits (job, event, until) values (j.id, rest.event, rest.until);
    if exists (select from bellhop.emitted e where e.event = rest.event) then
      now_is := 'ready';
      update bellhop.awaits w set waits = false, counted = true where w.job = j.id;
    end if;
  end if;
  update bellhop.jobqueue q
     set state = now_is, attempt = q.attempt - 1, instance = null, host = null, child = null, attempt_at = null, lease_until = null, stepped = true,
         started_at = coalesce(q.started_at, clock_timestamp()),
         run_at = case now_is when 'scheduled' then rest.until when 'ready' then null when 'blocked' then null else q.run_at end,
         unmet = case now_is when 'blocked' then 0 else q.unmet end,
         ended_at = case when now_is in ('cancelled', 'failed') then clock_timestamp() end,
         error = case now_is when 'failed' then 'killed: by ' || j.killed_by else q.error end,
         waiting_for = case now_is when 'scheduled' then coalesce('awaits_event: ' || rest.event, 'sleeps') when 'blocked' then 'dependencies' end
   where q.id = j.id;
  if now_is = 'blocked' then
    perform bellhop.make_children(j, rest.children, rest.by);
  end if;
  if rest.keep and now_is in ('scheduled', 'ready', 'blocked') then
    update bellhop.lock_grant g set rests = true where g.job = j.id and g.fence = j.fence and g.until is null and g.level <> 'filter';
  end if;
  if now_is in ('cancelled', 'failed') then
    perform bellhop.ended(array[j.id]);
    perform pg_notify('bellhop_over', j.id::text);
  elsif now_is = 'ready' then
    perform bellhop.kick();
  elsif now_is = 'scheduled' then
    perform pg_notify('bellhop_due', '');
  end if;
  return now_is;
end
$$;

-- rest_fault: why a job cannot rest for so long, or await such an event; NULL: it can.
-- Grant: scheduler
create or replace function bellhop.rest_fault(pause interval, event text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when pause not between interval '1 ms' and interval '366 days' then format('%s is not between 1 ms and 366 days', pause)
              when event !~ '^[^[:cntrl:]]{1,190}$' then 'an event has a name of 1 to 190 characters on one line' end
$$;

-- full_fault: why a job cannot rest once more: what is kept of it has to fit into its line. NULL: it can. Index:
-- saved_step's primary key.
-- Grant: scheduler
create or replace function bellhop.full_fault(job bigint) returns text
language sql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select format('job %s keeps %s steps, sleeps and events of %s bytes; it may keep 2000, and 16777216, when it rests', full_fault.job, count(*), sum(s.bytes))
    from bellhop.saved_step s
   where s.job = full_fault.job
  having count(*) >= 2000 or sum(s.bytes) > 16777216
$$;

-- refuse_rest: raises an error if this run cannot end by sleeping or awaiting.
-- Grant: scheduler
create or replace function bellhop.refuse_rest(j bellhop.jobqueue, pause interval, event text) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  fault text := bellhop.rest_fault(pause, event);
begin
  if fault is not null then
    raise invalid_parameter_value using message = fault;
  elsif j.instance is distinct from 0 then
    raise object_not_in_prerequisite_state using message = format('job %s was not taken: an instance runs it, and its agent ends the run', j.id),
      hint = 'Its agent writes {"sleep":"10m"} or {"await":{"event":"paid.42"}} (docs/steps.md).';
  end if;
  fault := bellhop.full_fault(j.id);
  if fault is not null then
    raise program_limit_exceeded using message = fault;
  end if;
end
$$;

-- rest_runs: runs of an instance's jobs end now and go on later, as their agents have said: after so many ms, or when the
-- event comes (0 ms: for as long as it takes), or when their children have ended. keeps: which of them keep their locks.
-- children: what they make, as JSON, for the submitters of their jobs. A job that cannot rest has failed.
-- Returns the jobs that were this instance's under these fences. Index: the primary keys.
-- Grant: scheduler
create or replace function bellhop.rest_runs(me bigint, jobs bigint[], fences bigint[], pauses bigint[], events text[], keeps boolean[] default '{}', children text[] default '{}') returns setof bigint
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  o     record;
  j     bellhop.jobqueue;
  fault text;
begin
  for o in
    select u.id, u.fence, nullif(u.ms, 0) * interval '1 ms' as pause, u.event, coalesce(u.keep, false) as keep, u.children
      from unnest(jobs, fences, pauses, events, keeps, rest_runs.children) as u (id, fence, ms, event, keep, children)
     order by u.id
  loop
    select q.* into j from bellhop.jobqueue q
     where q.id = o.id and q.fence = o.fence and q.instance = me and q.state in ('running', 'assigned') for no key update;
    continue when not found;
    fault := coalesce(bellhop.rest_fault(o.pause, o.event), bellhop.full_fault(o.id));
    if fault is null and o.pause is null and o.event is null and o.children is null then
      fault := 'for how long the job sleeps is not said';
    end if;
    if fault is null and o.children is not null then
      begin
        fault := bellhop.children_fault(o.children::jsonb);
        if fault is null then
          perform bellhop.rest(j, 'infinity', null, o.keep, o.children::jsonb, j.submitted_by);
        end if;
      exception when data_exception or integrity_constraint_violation or insufficient_privilege or program_limit_exceeded then
        get stacked diagnostics fault = message_text;
        fault := 'its child jobs cannot be made: ' || fault;
      end;
      if fault is null then
        return next o.id;
        continue;
      end if;
    end if;
    if fault is null then
      perform bellhop.rest(j, coalesce(clock_timestamp() + o.pause, 'infinity'), o.event, o.keep);
    else
      perform bellhop.end_badly(j, fault, interval '-1 s');
    end if;
    return next o.id;
  end loop;
end
$$;

-- sleep: this run of a taken job ends, and the next begins after a pause; no attempt is counted. Later attempts have the
-- step sleep.N, by which they know that the job slept. Returns when it wakes; NULL: it is asked to stop, and is over.
-- Grant: worker scheduler
create or replace function bellhop.sleep(job bigint, fence bigint, pause interval) returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j  bellhop.jobqueue := bellhop.own_run(sleep.job, sleep.fence);
  at timestamptz := clock_timestamp() + sleep.pause;
begin
  if sleep.pause is null then
    raise invalid_parameter_value using message = 'for how long the job sleeps is not said', hint = $h$bellhop.sleep(job, fence, '3 days')$h$;
  end if;
  perform bellhop.refuse_rest(j, sleep.pause, null);
  return case when bellhop.rest(j, at, null) = 'scheduled' then at end;
end
$$;

-- await_event: if the event has been emitted, returns came and its payload, and the run goes on. Else this run of a
-- taken job ends, and the next begins when the event comes, or after the timeout (NULL: never); no attempt is counted.
-- Later attempts have the step event.NAME: {"payload": …} or {"timed_out": how often}.
-- Grant: worker scheduler
create or replace function bellhop.await_event(job bigint, fence bigint, event text, timeout interval default null, out came boolean, out payload jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j    bellhop.jobqueue := bellhop.own_run(await_event.job, await_event.fence);
  kept jsonb;
begin
  if await_event.event is null then
    raise invalid_parameter_value using message = 'await_event wants the name of an event';
  end if;
  perform bellhop.refuse_rest(j, await_event.timeout, await_event.event);
  select s.output into kept from bellhop.saved_step s where s.job = j.id and s.name = 'event.' || await_event.event;
  came := kept ? 'payload';
  if came is not true then
    insert into bellhop.awaits as w (job, event, until) values (j.id, await_event.event, clock_timestamp())
    on conflict on constraint awaits_pkey do update set event = excluded.event, since = excluded.since, until = excluded.until, waits = true, told = false, counted = false;
    came := exists (select from bellhop.emitted e where e.event = await_event.event);
    if came then
      kept := bellhop.steps_of(j.id) #> array['steps', 'event.' || await_event.event];
      update bellhop.jobqueue q set stepped = true where q.id = j.id and q.stepped is not true;
    else
      perform bellhop.rest(j, coalesce(clock_timestamp() + await_event.timeout, 'infinity'), await_event.event);
    end if;
  end if;
  payload := kept -> 'payload';
end
$$;

-- wake: makes ready the jobs that await an event, at most so many. Rows that another transaction has locked are left.
-- Returns how many, and whether none is left. Index: awaits_event, the primary keys.
-- Grant: scheduler
create or replace function bellhop.wake(event text, most integer, out n integer, out done boolean)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  want bigint[] := array(select w.job from bellhop.awaits w where w.event = wake.event and w.waits order by w.job limit most);
  jobs bigint[];
begin
  if want = '{}' then
    n := 0; done := true;
    return;
  end if;
  jobs := array(select q.id from bellhop.jobqueue q where q.id = any (want) order by q.id for no key update skip locked);
  update bellhop.awaits w set waits = false where w.job = any (jobs);
  update bellhop.jobqueue q
     set state = case when q.held then q.state else 'ready' end, run_at = case when q.held then clock_timestamp() end,
         waiting_for = case when q.held then q.waiting_for end
   where q.id = any (jobs) and q.state in ('scheduled', 'held');
  get diagnostics n = row_count;
  done := cardinality(want) < most and cardinality(jobs) = cardinality(want);
  if n > 0 then
    perform bellhop.kick();
  end if;
end
$$;

-- event_slot: the advisory lock (its second key) of an event. An emitting transaction has it shared until its end, and a
-- look for what it did not see tries to have it alone. Few slots, since a transaction may emit very many events.
-- Grant: scheduler
create or replace function bellhop.event_slot(event text) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as 'select hashtext(event) & 1023';

-- emit: tells the jobs that await this event, or will, if this transaction commits. The first of a name stays. Returns
-- whether this is the first; a later one changes nothing. Jobs that await it are ready in the same transaction.
-- Guard: emitted's primary key. Index: the same, and awaits_event.
-- Grant: submitter scheduler
create or replace function bellhop.emit(event text, payload jsonb default null) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  fault text := bellhop.rest_fault(null, emit.event);
  woken record;
begin
  if emit.event is null or fault is not null then
    raise invalid_parameter_value using message = coalesce(fault, 'emit wants the name of an event');
  elsif octet_length(emit.payload::text) > 1048576 then
    raise program_limit_exceeded using message = format('the payload of event %s has %s bytes, and may have 1048576', emit.event, octet_length(emit.payload::text)),
      hint = 'Put it into a table, and emit its key.';
  end if;
  perform pg_advisory_xact_lock_shared(7090192, bellhop.event_slot(emit.event));
  insert into bellhop.emitted (event, payload, by) values (emit.event, emit.payload, bellhop.actor()) on conflict on constraint emitted_pkey do nothing;
  if not found then
    return false;
  end if;
  select * into woken from bellhop.wake(emit.event, 1000);
  -- An old snapshot does not show the jobs that came since.
  if not woken.done or current_setting('transaction_isolation') <> 'read committed' then
    update bellhop.emitted e set counted = false where e.event = emit.event;
    perform pg_notify('bellhop_due', '');
  end if;
  return true;
end
$$;

-- look_for_events: finds the jobs that await what was emitted when neither transaction saw the other. Returns how many it
-- made ready, and whether some are to be looked at again soon. Indexes: emitted_uncounted and awaits_uncounted, which
-- are empty nearly always.
-- Grant: scheduler
create or replace function bellhop.look_for_events(most integer, out n integer, out more boolean)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  name  text;
  woken record;
  firm  bigint[] := '{}';
  jobs  bigint[];
begin
  n := 0; more := false;
  for name in select e.event from bellhop.emitted e where not e.counted limit 100 for no key update skip locked loop
    select * into woken from bellhop.wake(name, most);
    n := n + woken.n;
    if woken.done then
      update bellhop.emitted e set counted = true where e.event = name;
    else
      more := true;
    end if;
  end loop;
  -- Alone with the slot, no transaction that emits the event is under way: what is there can be seen.
  for name, jobs in
    select w.event, array_agg(w.job) from (select a.event, a.job from bellhop.awaits a where not a.counted limit most) w group by w.event
  loop
    if pg_try_advisory_xact_lock(7090192, bellhop.event_slot(name)) then
      firm := firm || jobs;
    else
      more := true;
    end if;
  end loop;
  if firm <> '{}' then
    for name in select distinct w.event from bellhop.awaits w join bellhop.emitted e on e.event = w.event where w.job = any (firm) and w.waits loop
      select * into woken from bellhop.wake(name, most);
      n := n + woken.n;
      if not woken.done then
        update bellhop.emitted e set counted = false where e.event = name;
        more := true;
      end if;
    end loop;
    update bellhop.awaits w set counted = true where w.job = any (firm);
    more := more or cardinality(firm) >= most;
  end if;
end
$$;

-- forget_steps: forgets what is kept of a job from a step on, in the order of time; NULL: nothing, but what it awaits is
-- awaited anew. Returns whether there was such a step. Index: saved_step's primary key.
-- Grant: scheduler
create or replace function bellhop.forget_steps(job bigint, step text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  first_at timestamptz := (select s.at from bellhop.saved_step s where s.job = forget_steps.job and s.name = forget_steps.step);
begin
  delete from bellhop.saved_step s where s.job = forget_steps.job and s.at >= first_at;
  delete from bellhop.awaits w where w.job = forget_steps.job and (not w.told or first_at is not null);
  return first_at is not null;
end
$$;

-- steps: what take tells a worker of earlier attempts, for an agent that an instance runs: {"steps": name → output,
-- "event": …}; NULL if there are none. A run that was replaced raises BH004.
-- Grant: worker scheduler
create or replace function bellhop.steps(job bigint, fence bigint) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j bellhop.jobqueue := bellhop.own_run(steps.job, steps.fence);
begin
  return case when j.stepped then bellhop.steps_of(j.id) end;
end
$$;

-- retry_from: as retry, and the job forgets this step and those that came after it. A job that is not over is left as it
-- is. Returns its state. Its submitter may call this, and operators.
-- Grant: submitter operator scheduler
create or replace function bellhop.retry_from(id bigint, step text) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  is_at text;
  c     record;
begin
  if not bellhop.refuse_others(retry_from.id, 'retry') then
    return null;
  end if;
  select j.state into is_at from bellhop.jobqueue j where j.id = retry_from.id for update;
  if is_at not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return is_at;
  elsif not bellhop.forget_steps(retry_from.id, retry_from.step) then
    raise invalid_parameter_value using message = format('job %s has kept no step %s', retry_from.id, retry_from.step),
      hint = format('It has: %s.', coalesce((select string_agg(s.name, ', ' order by s.at) from bellhop.saved_step s where s.job = retry_from.id), 'none'));
  end if;
  c := bellhop.retry_job(retry_from.id);
  perform bellhop.changed_job('retry_from', retry_from.id, c.was_in, c.now_is);
  return c.now_is;
end
$$;

-- retain_events: deletes events that were emitted longer ago than an age (ms), at most so many. An event stays while a job
-- has yet to hear of it. Returns how many. Index: emitted_at.
-- Grant: scheduler
create or replace function bellhop.retain_events(age bigint, most integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  n integer;
begin
  delete from bellhop.emitted e
   where e.event = any (array(select o.event from bellhop.emitted o
                               where o.at < clock_timestamp() - age * interval '1 ms' and o.counted
                                 and not exists (select from bellhop.awaits w join bellhop.jobqueue q on q.id = w.job
                                                  where w.event = o.event and not w.told and q.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                               order by o.at limit most for update skip locked));
  get diagnostics n = row_count;
  return n;
end
$$;
