-- What apps and operators call.

-- kick: look again now. NOTIFY carries no authority: it starts, stops and
-- changes nothing by itself.
create function bellhop.kick() returns void
language sql volatile
set search_path = pg_catalog
as $$ select pg_notify('bellhop', '') $$;

-- submit: the INSERT with the columns by name. A key that exists gives the
-- first job's id when the content equals, and an error that names the
-- difference when it does not.
create function bellhop.submit(
  type text, args text default null, msq text default null, repeat text default null, run_on text default null,
  key text default null, priority integer default 0, priority_name text default null, run_at timestamptz default null,
  held boolean default false, vars jsonb default null, locks text[] default null, reasons text[] default null,
  max_attempts integer default 1, timeout interval default null, on_failure text default 'fail',
  traceparent text default null
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  new_id bigint;
  old    bellhop.jobqueue;
  differ text[] := '{}';
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
  if new_id is not null then
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
  if differ <> '{}' then
    raise unique_violation using
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  return old.id;
end
$$;

-- priority_of: RJM's letters. a…z are −13…12 by the first letter, so n is 0;
-- digits come before letters.
create function bellhop.priority_of(name text) returns smallint
language sql immutable strict parallel safe
set search_path = pg_catalog
as $$
  select (case when left(lower(name), 1) between 'a' and 'z' then ascii(lower(name)) - ascii('n') else -20 end)::smallint
$$;

-- release: a held job may run. Returns the state it has now.
create function bellhop.release(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  now_is text;
begin
  update bellhop.jobqueue j
     set held = false, state = case when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
   where j.id = release.id and j.state = 'held'
  returning j.state into now_is;
  if found then
    perform bellhop.kick();
    return now_is;
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = release.id;
  return now_is;
end
$$;

-- cancel: what waits is cancelled at once; what runs is asked to die and is
-- cancelled when its process tree is dead. A final job stays what it is.
-- Returns the state it has now, NULL when there is no such job.
create function bellhop.cancel(id bigint, now boolean default false) returns text
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
       set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true
     where j.id = cancel.id;
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

-- retry: a final job gets a new attempt; what is over stays in bellhop.attempt.
-- Returns the state it has now, NULL when there is no such job.
create function bellhop.retry(id bigint) returns text
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
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false,
         items_total = null, items_done = null, items_failed = null
   where j.id = retry.id
  returning j.state into now_is;
  perform bellhop.kick();
  return now_is;
end
$$;
