-- retry_attached: a retry of a row's job takes one of the places of its attachment.
-- Grant: scheduler
create or replace function bellhop.retry_attached(job bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  a bellhop.attachment;
begin
  select b.* into a from bellhop.attached x join bellhop.attachment b on b.id = x.attachment where x.job = retry_attached.job;
  if not found then
    return;
  end if;
  perform from bellhop.attachment b where b.id = a.id for update; -- no instance takes rows of it until this ends
  if (select count(*) from bellhop.attached x where x.attachment = a.id and x.live and x.ahead is null and x.job <> retry_attached.job) >= a.pool then
    raise object_not_in_prerequisite_state using
      message = format('job %s is a row of %s, and all %s places of that are taken', retry_attached.job, a.name, a.pool),
      hint = 'Set its dispatch column to NULL: then it runs as soon as there is room.';
  end if;
  update bellhop.attached x set live = true, ahead = null where x.job = retry_attached.job;
end
$$;

-- passed_back: this job said skipped and is tried again. Jobs that were passed over because of it wait for it again,
-- and so on down the graph. Returns their ids. Indexes: dependency_open, the primary key.
-- Grant: scheduler
create or replace function bellhop.passed_back(root bigint) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  jobs bigint[];
begin
  jobs := array(
    with recursive over (id) as (
      select passed_back.root
      union
      select j.id
        from over o
        join bellhop.dependency d on d.needs = o.id and not d.met
        join bellhop.jobqueue j on j.id = d.job
       where j.ended_by = passed_back.root and j.ended_as = 'skipped' and j.state = 'succeeded'
    )
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select o.id from over o)) and j.id <> passed_back.root and j.ended_as = 'skipped'
     order by j.id for update);
  if jobs = '{}' then
    return jobs;
  end if;
  update bellhop.jobqueue j
     set state = 'ready', ended_at = null, ended_as = null, ended_by = null,
         not_after = case when j.not_after > clock_timestamp() then j.not_after end
   where j.id = any (jobs);
  update bellhop.dependency d set counted = false where d.job = any (jobs) and not d.met;
  perform bellhop.ended(w.failed) from bellhop.resolve(jobs, false) w;
  perform pg_notify('bellhop_due', '');
  return jobs;
end
$$;

-- retry_along: this job did not succeed, and its outcome is undone, as it is tried again. Jobs that went by that
-- outcome (on_failure: run, or a need that wants it) and are over are tried again after it, and so are those that went
-- by theirs. Jobs that still wait for others wait for it again. A job that this one waits for keeps its outcome and its
-- needs: the two would wait for each other for ever. A job that has begun, or that the caller may not retry, stays as
-- it is, and a warning says so. Indexes: dependency_needs; dependency's and jobqueue's primary keys.
-- Grant: scheduler
create or replace function bellhop.retry_along(root bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  most  constant integer := 1000;
  final constant text[] := '{succeeded,failed,quarantined}'; -- a cancelled job was an order, and stays cancelled
  these bigint[];
  waits bigint[];
  ahead bigint[];
  todo  bigint[];
  next  bigint[];
  one   bigint;
  x     record;
begin
  if not exists (select from bellhop.dependency d where d.needs = root and d.met) then
    return;
  end if;
  ahead := bellhop.needs_by_way(array[root]);
  these := array(
    with recursive down (id) as (
      select root
      union
      select j.id from down b join bellhop.dependency d on d.needs = b.id and d.met join bellhop.jobqueue j on j.id = d.job
       where j.state = any (final) and (j.attempt > 0 or j.type = 'dummy') and (j.type <> 'dummy' or j.run is null)
         and bellhop.may_change(j.submitted_by) and j.id <> all (ahead)
    )
    select j.id from bellhop.jobqueue j where j.id = any (array(select w.id from down w where w.id <> root limit most + 1)) order by j.id for update);
  if cardinality(these) > most then
    raise program_limit_exceeded using message = format('more than %s jobs went by the outcome of job %s', most, root),
      hint = 'Cancel unwanted ones, or submit the graph again.';
  end if;
  ahead := bellhop.needs_by_way(these || root);
  these := array(select t from unnest(these) t where t <> all (ahead));
  for x in
    select d.job, j.state, d.needs from bellhop.dependency d join bellhop.jobqueue j on j.id = d.job
     where d.needs = any (these || root) and d.met and d.job <> all (these) and not (j.type = 'dummy' and j.run is not null)
       and j.state not in ('held', 'blocked') and (j.attempt > 0 or j.state in ('ready', 'scheduled', 'assigned', 'running'))
  loop
    raise warning 'job % is %: it went by the outcome of job %, and is not tried again with it', x.job, x.state, x.needs;
  end loop;
  waits := array(select j.id from bellhop.jobqueue j
                  where j.id = any (array(select d.job from bellhop.dependency d where d.needs = any (these || root) and d.met))
                    and j.id <> all (ahead) and j.state in ('held', 'blocked') and not (j.type = 'dummy' and j.run is not null and j.step is null) order by j.id for update);
  update bellhop.dependency d set met = false, counted = false where d.needs = any (these || root) and d.met and d.job = any (these || waits);
  todo := these;
  while todo <> '{}' loop -- a job that is needed comes first
    next := array(select t from unnest(todo) t where not exists (select from bellhop.dependency d where d.job = t and d.needs = any (todo)) order by t);
    foreach one in array next loop
      perform bellhop.retry_job(one);
    end loop;
    exit when next = '{}';
    todo := array(select t from unnest(todo) t where t <> all (next));
  end loop;
  if waits <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.resolve(waits, false) w;
    perform pg_notify('bellhop_due', '');
  end if;
end
$$;

-- retry: a final job gets a new attempt; earlier ones stay in bellhop.attempt, and its steps are kept. Needs that were
-- met stay met; for the others the job waits. Jobs that wait for this one go on doing so. Jobs that were passed over
-- because it said skipped wait for it again, and jobs that went by its failure are tried again after it (retry_along).
-- Its submitter may call this, and operators. Returns the state that the job has now, NULL if there is no such job.
-- Grant: submitter operator scheduler
create or replace function bellhop.retry(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  c record;
begin
  c := bellhop.retry_job(retry.id);
  perform bellhop.changed_job('retry', retry.id, c.was_in, c.now_is);
  return c.now_is;
end
$$;

-- retry_job: what retry does, for functions that record their change as a whole. was_in: the state before.
-- Grant: scheduler
create or replace function bellhop.retry_job(id bigint, out was_in text, out now_is text)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  was    bellhop.jobqueue;
  back   bigint[] := '{}';
begin
  if not bellhop.refuse_others(retry_job.id, 'retry') then
    return;
  end if;
  perform bellhop.retry_attached(retry_job.id)
    from bellhop.jobqueue j where j.id = retry_job.id and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into was from bellhop.jobqueue j where j.id = retry_job.id for update;
  was_in := was.state;
  now_is := was.state;
  if was.state is null or was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    return;
  end if;
  if was.attempt > 0 and was.started_at is not null then
    insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes, spawned_at)
    select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
           was.exit_code, was.error, was.successes, was.spawned_at
    where not exists (select 1 from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
  end if;
  update bellhop.jobqueue j
     set state = 'ready', held = false, run_at = null, max_attempts = greatest(j.max_attempts, j.attempt + 1),
         not_after = case when j.not_after > clock_timestamp() then j.not_after end,
         ended_at = null, exit_code = null, error = null, reason = null, waiting_for = null, successes = null, instance = null,
         host = null, child = null, deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null, ended_as = null,
         items_total = null, items_done = null, items_failed = null, result = null, progress = null, progress_text = null,
         locks = coalesce(j.locks, case when j.type not in ('command', 'dummy') and exists (select from bellhop.filter) then '{}'::text[] end) -- the next pass asks them
   where j.id = retry_job.id;
  perform bellhop.unwanted_remote(retry_job.id);
  if was.stepped then
    perform bellhop.forget_steps(retry_job.id, null);
  end if;
  if exists (select from bellhop.dependency d where d.job = retry_job.id and not d.met) then
    update bellhop.dependency d set counted = false where d.job = retry_job.id and not d.met;
    perform bellhop.ended(w.failed) from bellhop.resolve(array[retry_job.id], false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  if was.ended_as = 'skipped' then
    back := bellhop.passed_back(retry_job.id);
  end if;
  if was.state <> 'succeeded' then
    perform bellhop.retry_along(retry_job.id);
  end if;
  if was.run is not null then
    perform bellhop.step_again(was.run, was.id || back);
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = retry_job.id;
  perform bellhop.kick();
end
$$;
