-- cancel: a waiting job is cancelled at once. A running job is asked to die, and is cancelled when its process tree is
-- dead. A final job stays what it is. Its submitter may call this, and operators. Returns the state that the job has
-- now, NULL if there is no such job.
-- Grant: submitter operator scheduler
create or replace function bellhop.cancel(id bigint, now boolean default false) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was    text;
  of_run bigint;
begin
  if not bellhop.refuse_others(cancel.id, 'cancel') then
    return null;
  end if;
  -- The lock settles the race with a claim or an outcome.
  -- A job that waits for a lock that it asked for while it ran has a process, which must be dead first.
  select case when j.state = 'assigned' and j.waiting_for like 'lock_held: %' then 'running' else j.state end,
         case when j.type = 'dummy' then j.run end into was, of_run
    from bellhop.jobqueue j where j.id = cancel.id for update;
  if of_run is not null and was in ('blocked', 'held') then
    raise object_not_in_prerequisite_state using message = format('job %s is none of the steps of run %s, but waits for them', cancel.id, of_run),
      hint = format('Cancel its steps: select bellhop.cancel(job) from bellhop.run_step where run = %s', of_run);
  end if;
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
  who text := coalesce(killjob.by, bellhop.caller());
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
       set state = 'failed', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, killed_by = who,
           error = 'killed: by ' || who || ', before it began'
     where j.id = killjob.id;
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    perform bellhop.ended(array[killjob.id]);
    return 'failed';
  elsif was = 'running' then
    update bellhop.jobqueue j set cancel_requested = true, killed_by = who where j.id = killjob.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$$;
