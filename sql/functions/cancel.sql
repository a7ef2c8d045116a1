-- cancel: a waiting job is cancelled at once. A running job is asked to die, and is cancelled when its process tree is
-- dead. A final job stays what it is. Its submitter may call this, and operators. Returns the state that the job has
-- now, NULL if there is no such job.
-- Grant: submitter operator scheduler
create or replace function bellhop.cancel(id bigint, now boolean default false) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  c record;
begin
  c := bellhop.cancel_job(cancel.id, cancel.now);
  perform bellhop.changed_job(case when cancel.now then 'kill' else 'cancel' end, cancel.id, c.was, c.now_is,
                              case when c.now_is = 'running' then 'asked to stop' end);
  return c.now_is;
end
$$;

-- cancel_job: what cancel does, for functions that record their change as a whole. was: the state before.
-- Grant: scheduler
create or replace function bellhop.cancel_job(id bigint, now boolean default false, out was text, out now_is text)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  of_run bigint;
begin
  if not bellhop.refuse_others(cancel_job.id, 'cancel') then
    return;
  end if;
  -- The lock settles the race with a claim or an outcome.
  -- A job that waits for a lock that it asked for while it ran has a process, which must be dead first.
  select case when j.state = 'assigned' and j.waiting_for like 'lock_held: %' then 'running' else j.state end,
         case when j.type = 'dummy' then j.run end into was, of_run
    from bellhop.jobqueue j where j.id = cancel_job.id for update;
  now_is := was;
  if of_run is not null and was in ('blocked', 'held') then
    raise object_not_in_prerequisite_state using message = format('job %s is none of the steps of run %s, but waits for them', cancel_job.id, of_run),
      hint = format('Cancel its steps: select bellhop.cancel(job) from bellhop.run_step where run = %s', of_run);
  end if;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null
     where j.id = cancel_job.id;
    perform bellhop.ended(array[cancel_job.id]);
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    now_is := 'cancelled';
  elsif was = 'running' then
    update bellhop.jobqueue j
       set cancel_requested = true, cancel_now = j.cancel_now or cancel_job.now
     where j.id = cancel_job.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
end
$$;

-- killjob: as cancel, but the job ends failed, also if it waits: that is the user's wish. Returns the state that it has
-- now, NULL if there is no such job.
-- Grant: operator scheduler
create or replace function bellhop.killjob(id bigint, by text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was text;
  who text := coalesce(killjob.by, bellhop.actor());
begin
  -- The lock settles the race with a claim or an outcome.
  -- A job that waits for a lock that it asked for while it ran has a process, which must be dead first.
  select case when j.state = 'assigned' and j.waiting_for like 'lock_held: %' then 'running' else j.state end into was
    from bellhop.jobqueue j where j.id = killjob.id for update;
  if was in ('blocked', 'held') and exists (select from bellhop.jobqueue j where j.id = killjob.id and j.type = 'dummy' and j.run is not null) then
    raise object_not_in_prerequisite_state using message = format('job %s is none of the steps of its run, but waits for them', killjob.id),
      hint = format('Cancel its steps: select bellhop.cancel(s.job) from bellhop.run_step s join bellhop.jobqueue j on j.run = s.run where j.id = %s', killjob.id);
  end if;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'failed', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null, killed_by = who,
           error = 'killed: by ' || who || ', before it began'
     where j.id = killjob.id;
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    perform bellhop.ended(array[killjob.id]);
    perform bellhop.changed_job('killjob', killjob.id, was, 'failed', killjob.by);
    return 'failed';
  elsif was = 'running' then
    update bellhop.jobqueue j set cancel_requested = true, killed_by = who where j.id = killjob.id;
    perform bellhop.changed_job('killjob', killjob.id, was, was, concat_ws(', ', 'asked to stop', killjob.by));
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$$;
