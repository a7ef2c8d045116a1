-- A dependency has come. For each row: whether it has to be looked at again. That is not necessary if the needed job
-- came in this same transaction: no other transaction can have ended that job before this one commits.
-- Grant: none
create or replace function bellhop.dependency_row() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  ours boolean;
  whose text;
  rests boolean;
begin
  -- For a caller that may not see a job, the error says that there is none.
  -- Only a run that rests until its children have ended leaves its job blocked with nothing unmet (bellhop.rest).
  select j.submitted_by, j.state = 'blocked' and j.unmet = 0 into whose, rests from bellhop.jobqueue j where j.id = new.job;
  if found and rests then
    null; -- its worker may let it wait
  elsif not found or not bellhop.may_change(whose) and not bellhop.is_reader() then
    raise foreign_key_violation using message = format('there is no job %s that could need job %s', new.job, new.needs),
      constraint = 'dependency_job_exists', table = 'dependency', hint = 'Insert the job first, in the same transaction.';
  elsif not bellhop.may_change(whose) then
    raise insufficient_privilege using message = format('permission denied: %s may not let job %s, which others have submitted, wait for another', bellhop.caller(), new.job),
      hint = format('That is for its submitter and for operators: grant bellhop_operator to %I.', bellhop.caller());
  elsif new.job = new.needs then
    raise check_violation using message = format('a job cannot need itself, and job %s would', new.job),
      constraint = 'dependency_no_cycle', table = 'dependency', hint = 'Leave this dependency out.';
  end if;
  select j.xmin = pg_current_xact_id()::xid and j.created_at >= now()
         and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'), j.submitted_by
    into ours, whose from bellhop.jobqueue j where j.id = new.needs;
  if not found or not (bellhop.may_change(whose) or bellhop.is_reader()) then
    raise foreign_key_violation using message = format('there is no job %s that job %s could need', new.needs, new.job),
      constraint = 'dependency_needs_exists', table = 'dependency', hint = 'bellhop ls   shows the jobs there are; insert what is needed first.';
  end if;
  new.met := false;
  new.counted := ours;
  return new;
end
$$;

create or replace trigger _100_dependency_row
  before insert on bellhop.dependency
  for each row execute function bellhop.dependency_row();

-- All dependencies that came with one statement. No other transaction can see jobs that came in this one. For other
-- jobs, one transaction at a time: two that each add half of a cycle must meet.
-- Grant: none
create or replace function bellhop.dependencies_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  jobs   bigint[] := array(select distinct c.job from came c);
  others bigint[];
  grown  bigint[];
  late   record;
begin
  if jobs = '{}' then
    return null;
  end if;
  others := array(select j.id from bellhop.jobqueue j
                   where j.id = any (jobs) and not (j.xmin = pg_current_xact_id()::xid and j.created_at >= now())
                     and not coalesce(j.state = 'blocked' and j.unmet = 0, false) -- new children need nothing: no cycle
                   order by j.id);
  if others <> '{}' then
    lock table bellhop.dependency_turn in exclusive mode; -- no other transaction may
    perform from bellhop.jobqueue j where j.id = any (others) order by j.id for update;
    select j.id, j.state, j.started_at into late
      from bellhop.jobqueue j
     where j.id = any (others) and (j.state not in ('held', 'blocked', 'scheduled', 'ready') or j.started_at is not null)
     order by j.id limit 1;
    if found then
      raise object_not_in_prerequisite_state using
        message = format('a dependency of %s comes too late: it %s', bellhop.job_name(late.id),
                         case when late.state in ('succeeded', 'failed', 'cancelled', 'quarantined') then 'is ' || late.state else 'has started' end),
        constraint = 'dependency_in_time', table = 'dependency',
        hint = 'Insert a job and what it needs in one transaction, or insert it held and release it afterwards.';
    end if;
  end if;
  -- A job that waits already, and now also for jobs that came in this transaction, only gets its count raised: its
  -- earlier needs are not counted again, so that thousands can join a batch one by one.
  with more as (
    select c.job, count(*)::integer as n from came c group by c.job having bool_and(c.counted)
  ), counted as (
    update bellhop.jobqueue j set unmet = j.unmet + m.n from more m
     where j.id = m.job and j.unmet is not null and j.state in ('held', 'blocked')
    returning j.id
  )
  select coalesce(array_agg(c.id), '{}') into grown from counted c;
  if grown <> jobs then
    perform bellhop.ended(w.failed) from bellhop.resolve(array(select j from unnest(jobs) j where j <> all (grown)), false) w;
  end if;
  perform bellhop.refuse_cycles(jobs); -- needs that are met already are on no cycle
  if exists (select from bellhop.dependency d where d.job = any (jobs) and not d.counted) then
    perform pg_notify('bellhop_due', ''); -- look, when this is committed
  end if;
  return null;
end
$$;

create or replace trigger _200_dependencies_came
  after insert on bellhop.dependency
  referencing new table as came
  for each statement execute function bellhop.dependencies_came();

-- A dependency is gone: its job may need nothing any more.
-- Grant: none
create or replace function bellhop.dependencies_gone() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  jobs bigint[];
begin
  jobs := array(select j.id from bellhop.jobqueue j
                 where j.id = any (array(select g.job from gone g where not g.met)) and j.state in ('held', 'blocked', 'scheduled', 'ready')
                 order by j.id for no key update);
  if jobs <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.resolve(jobs, false) w;
  end if;
  return null;
end
$$;

create or replace trigger _200_dependencies_gone
  after delete on bellhop.dependency
  referencing old table as gone
  for each statement execute function bellhop.dependencies_gone();

-- Jobs were deleted: their needs are deleted with them, and the jobs that needed them have to be looked at.
-- Grant: none
create or replace function bellhop.jobs_gone() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from bellhop.lost_run) then
    delete from bellhop.lost_run l using gone g where l.job = g.id;
  end if;
  if exists (select from bellhop.item_done) then
    delete from bellhop.item_done i using gone g where i.job = g.id;
  end if;
  if exists (select from gone g where g.stepped) then
    delete from bellhop.saved_step s where s.job = any (array(select g.id from gone g where g.stepped));
    delete from bellhop.awaits w where w.job = any (array(select g.id from gone g where g.stepped));
  end if;
  if not exists (select from bellhop.dependency) then
    return null;
  end if;
  delete from bellhop.dependency d using gone g where d.job = g.id;
  delete from bellhop.dependency d using gone g where d.needs = g.id and (d.met or g.state = any (d.wanted));
  update bellhop.dependency d set counted = false from gone g where d.needs = g.id;
  if found then
    perform pg_notify('bellhop_due', '');
  end if;
  return null;
end
$$;

create or replace trigger _300_jobs_gone
  after delete on bellhop.jobqueue
  referencing old table as gone
  for each statement execute function bellhop.jobs_gone();

-- Grant: none
create or replace function bellhop.all_jobs_gone() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from bellhop.lost_run;
  delete from bellhop.item_done;
  delete from bellhop.saved_step;
  delete from bellhop.awaits;
  delete from bellhop.dependency; -- a TRUNCATE of both could not be combined with another
  return null;
end
$$;

create or replace trigger _300_all_jobs_gone
  after truncate on bellhop.jobqueue
  for each statement execute function bellhop.all_jobs_gone();
