-- edit: changes a waiting job; NULL leaves a value as it is. A run_at that has passed counts as none: the job may start
-- now. hold true holds the job, false releases it. not_after 'infinity' is no end. run_on '' is anywhere. vars replace
-- all that the job has. msq is for a job that has a query. A job that has begun, or is over, stays as it is. Returns
-- the job's state, NULL if there is no such job. Its submitter may call this, and operators. The rules for the values
-- are those of an INSERT.
-- Grant: submitter operator scheduler
create or replace function bellhop.edit(
  id bigint, priority integer default null, priority_name text default null, run_at timestamptz default null, args text default null,
  max_attempts integer default null, timeout interval default null, hold boolean default null,
  not_after timestamptz default null, run_on text default null, vars jsonb default null, msq text default null,
  on_failure text default null
) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was    record;
  now_is text;
  at     timestamptz := nullif(edit.run_at, '-infinity');
begin
  if not bellhop.refuse_others(edit.id, 'change') then
    return null;
  end if;
  if edit.priority not between -20 and 19 then
    raise check_violation using constraint = 'jobqueue_priority_range', message = format('priority %s is out of range', edit.priority), hint = 'Priorities are -20 (first) to 19 (last).';
  end if;
  -- The lock settles the race with a claim.
  select j.state, j.type, j.msq is not null as is_msq, j.on_failure, j.locks is not null as locked into was from bellhop.jobqueue j where j.id = edit.id for update;
  if was.state is null or was.state not in ('held', 'blocked', 'scheduled', 'ready') then
    return was.state;
  end if;
  if edit.msq is not null and not was.is_msq then
    raise object_not_in_prerequisite_state using message = format('job %s has no query that could be changed: it is given one line', edit.id),
      hint = 'Cancel it, and submit another one with a query.';
  end if;
  if edit.args is not null and was.type in ('command', 'attachment') then
    raise object_not_in_prerequisite_state using message = format('the args of job %s are not to be changed: it is of type %s', edit.id, was.type),
      hint = 'Cancel it, and submit another one.';
  end if;
  update bellhop.jobqueue j
     set priority      = coalesce(bellhop.priority_of(edit.priority_name), edit.priority::smallint, j.priority),
         priority_name = case when edit.priority_name is not null then edit.priority_name when edit.priority is null then j.priority_name end,
         args          = coalesce(edit.args, j.args),
         -- A run from before a crash, or on another server, had the old ones: it is not taken again
         -- (queries/reassert.sql).
         fence         = case when num_nonnulls(edit.args, edit.vars, edit.msq) = 0 or j.locks is not null then j.fence
                              else greatest(j.fence, (select e.floor from bellhop.era() e)) end,
         timeout       = coalesce(edit.timeout, j.timeout),
         max_attempts  = coalesce(edit.max_attempts, j.max_attempts),
         own_attempts  = case when edit.max_attempts is not null then true else j.own_attempts end,
         run_at        = case when edit.run_at is null then j.run_at when at > clock_timestamp() then at end,
         msq           = coalesce(edit.msq, j.msq),
         vars          = coalesce(edit.vars, j.vars),
         behind        = null, -- its agent's locks, and filters, are asked again
         run_on        = case when edit.run_on is null then j.run_on else nullif(edit.run_on, '') end,
         on_failure    = coalesce(edit.on_failure, j.on_failure),
         not_after     = case when edit.not_after is null then j.not_after else nullif(edit.not_after, 'infinity') end,
         held          = j.held or coalesce(edit.hold, false),
         state         = case when edit.hold or j.held then 'held' when edit.run_at is null or j.unmet is not null then j.state
                              when at > clock_timestamp() then 'scheduled' else 'ready' end,
         waiting_for   = case when edit.hold or edit.run_on is not null and j.unmet is null then null
                              when (j.waiting_for in ('retry_delay', 'snoozed', 'sleeps') or j.waiting_for like 'awaits_event: %') and edit.run_at is not null then null else j.waiting_for end
   where j.id = edit.id;
  if edit.args is not null or edit.vars is not null then
    perform bellhop.unwanted_remote(edit.id);
  end if;
  if edit.not_after < 'infinity' then
    insert into bellhop.deadline (job, at) values (edit.id, edit.not_after) on conflict (job) do update set at = excluded.at;
  elsif edit.not_after is not null then
    delete from bellhop.deadline d where d.job = edit.id;
  end if;
  -- Jobs that it needs may have ended already, in a way that means something else now.
  if edit.on_failure <> was.on_failure then
    update bellhop.dependency d set counted = false where d.job = edit.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[edit.id], false) w;
  end if;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if was.locked then
    perform pg_notify('bellhop', 'locks');
  end if;
  if edit.hold is false then
    return bellhop.release(edit.id);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = edit.id;
  return now_is;
end
$$;

-- edit_version: a text that differs whenever something has changed that bellhop.edit changes and bellhop.job does not
-- show. It is for callers that may change the job, and NULL for others: a digest of hidden values would let them test a
-- guess.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.edit_version(id bigint) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select md5(jsonb_build_array(j.args, j.msq, j.vars, j.timeout, j.held, j.own_attempts)::text) from bellhop.jobqueue j
   where j.id = edit_version.id and bellhop.may_change(j.submitted_by)
$$;
