-- edit: changes a waiting job; NULL leaves a value as it is. A run_at that has passed counts as none: the job may start
-- now. hold true holds the job, false releases it. not_after 'infinity' is no end. run_on '' is anywhere. vars replace
-- all that the job has. msq is for a job that has a query. A job that has begun, or is over, stays as it is. Returns
-- the job's state, NULL if there is no such job. Its submitter may call this, and operators. The rules for the values
-- are those of an INSERT. A sealed job takes sealed texts only, but where it has plain ones (sealed.sql).
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
declare
  c     record;
  -- What readers may see of it: of arguments, variables and queries only that they were changed.
  said  text[] := array_remove(array[
    'priority ' || coalesce(edit.priority_name, edit.priority::text), 'run_at ' || edit.run_at, 'max_attempts ' || edit.max_attempts,
    'timeout ' || edit.timeout, case edit.hold when true then 'held' when false then 'released' end, 'not_after ' || edit.not_after,
    'run_on ' || case edit.run_on when '' then 'any' else left(edit.run_on, 100) end, 'on_failure ' || edit.on_failure,
    case when edit.args is not null then 'args' end, case when edit.vars is not null then 'vars' end,
    case when edit.msq is not null then 'msq' end], null);
begin
  c := bellhop.edit_job(edit.id, edit.priority, edit.priority_name, edit.run_at, edit.args, edit.max_attempts, edit.timeout, edit.hold,
                        edit.not_after, edit.run_on, edit.vars, edit.msq, edit.on_failure);
  if c.was_in in ('held', 'blocked', 'scheduled', 'ready') and said <> '{}' then
    perform bellhop.changed_job(case when cardinality(said) > 1 then 'edit' when edit.hold then 'hold' when not edit.hold then 'release'
                                     when num_nonnulls(edit.priority, edit.priority_name) > 0 then 'priority' else 'edit' end,
                                edit.id, c.was_in, c.now_is, array_to_string(said, ', '));
  end if;
  return c.now_is;
end
$$;

-- edit_job: what edit does, for functions that record their change as a whole. was_in: the state before.
-- Grant: scheduler
create or replace function bellhop.edit_job(
  id bigint, priority integer default null, priority_name text default null, run_at timestamptz default null, args text default null,
  max_attempts integer default null, timeout interval default null, hold boolean default null,
  not_after timestamptz default null, run_on text default null, vars jsonb default null, msq text default null,
  on_failure text default null, out was_in text, out now_is text
)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was    record;
  at     timestamptz := nullif(edit_job.run_at, '-infinity');
begin
  if not bellhop.refuse_others(edit_job.id, 'change') then
    return;
  end if;
  if edit_job.priority not between -20 and 19 then
    raise check_violation using constraint = 'jobqueue_priority_range', message = format('priority %s is out of range', edit_job.priority), hint = 'Priorities are -20 (first) to 19 (last).';
  end if;
  -- The lock settles the race with a claim.
  select j.state, j.type, j.args, j.vars, j.msq is not null as is_msq, j.on_failure, j.locks is not null as locked into was from bellhop.jobqueue j where j.id = edit_job.id for update;
  was_in := was.state;
  now_is := was.state;
  if was.state is null or was.state not in ('held', 'blocked', 'scheduled', 'ready') then
    return;
  end if;
  if edit_job.msq is not null and not was.is_msq then
    raise object_not_in_prerequisite_state using message = format('job %s has no query that could be changed: it is given one line', edit_job.id),
      hint = 'Cancel it, and submit another one with a query.';
  end if;
  if edit_job.args is not null and was.type in ('command', 'attachment') then
    raise object_not_in_prerequisite_state using message = format('the args of job %s are not to be changed: it is of type %s', edit_job.id, was.type),
      hint = 'Cancel it, and submit another one.';
  end if;
  perform bellhop.refuse_plain(edit_job.id, was.type, was.args, was.vars, edit_job.args, edit_job.vars);
  update bellhop.jobqueue j
     set priority      = coalesce(bellhop.priority_of(edit_job.priority_name), edit_job.priority::smallint, j.priority),
         priority_name = case when edit_job.priority_name is not null then edit_job.priority_name when edit_job.priority is null then j.priority_name end,
         args          = coalesce(edit_job.args, j.args),
         -- A run from before a crash, or on another server, had the old ones: it is not taken again
         -- (queries/reassert.sql).
         fence         = case when num_nonnulls(edit_job.args, edit_job.vars, edit_job.msq) = 0 or j.locks is not null then j.fence
                              else greatest(j.fence, (select e.floor from bellhop.era() e)) end,
         timeout       = coalesce(edit_job.timeout, j.timeout),
         max_attempts  = coalesce(edit_job.max_attempts, j.max_attempts),
         own_attempts  = case when edit_job.max_attempts is not null then true else j.own_attempts end,
         run_at        = case when edit_job.run_at is null then j.run_at when at > clock_timestamp() then at end,
         msq           = coalesce(edit_job.msq, j.msq),
         vars          = coalesce(edit_job.vars, j.vars),
         template      = bellhop.edited_template(j, edit_job.args, edit_job.vars),
         behind        = null, -- its agent's locks, and filters, are asked again
         run_on        = case when edit_job.run_on is null then j.run_on else nullif(edit_job.run_on, '') end,
         on_failure    = coalesce(edit_job.on_failure, j.on_failure),
         not_after     = case when edit_job.not_after is null then j.not_after else nullif(edit_job.not_after, 'infinity') end,
         held          = j.held or coalesce(edit_job.hold, false),
         state         = case when edit_job.hold or j.held then 'held' when edit_job.run_at is null or j.unmet is not null then j.state
                              when at > clock_timestamp() then 'scheduled' else 'ready' end,
         waiting_for   = case when edit_job.hold or edit_job.run_on is not null and j.unmet is null then null
                              when (j.waiting_for in ('retry_delay', 'snoozed', 'sleeps') or j.waiting_for like 'awaits_event: %' or j.waiting_for like e'no\\_key: %') and edit_job.run_at is not null then null else j.waiting_for end
   where j.id = edit_job.id;
  if edit_job.args is not null or edit_job.vars is not null then
    perform bellhop.unwanted_remote(edit_job.id);
  end if;
  if edit_job.not_after < 'infinity' then
    insert into bellhop.deadline (job, at) values (edit_job.id, edit_job.not_after) on conflict (job) do update set at = excluded.at;
  elsif edit_job.not_after is not null then
    delete from bellhop.deadline d where d.job = edit_job.id;
  end if;
  -- Jobs that it needs may have ended already, in a way that means something else now.
  if edit_job.on_failure <> was.on_failure then
    update bellhop.dependency d set counted = false where d.job = edit_job.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[edit_job.id], false) w;
  end if;
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if was.locked then
    perform pg_notify('bellhop', 'locks');
  end if;
  if edit_job.hold is false then
    perform bellhop.release_job(edit_job.id);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = edit_job.id;
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
