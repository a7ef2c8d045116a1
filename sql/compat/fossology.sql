-- FOSSology's front end keeps its own names: fossology.jobqueue and
-- fossology.jobdepends are views of the queue that can be written to. Put in
-- place by `bellhop migrate --compat fossology`, as often as you like; taken
-- away by `drop schema fossology cascade`, which touches no job.

create schema if not exists fossology;

-- The front end asks for currval of this one after an INSERT.
create sequence if not exists fossology.jobqueue_jq_pk_seq;

create or replace view fossology.jobqueue as
  select j.id                                                                          as jq_pk,
         case when j.vars->>'jobId' ~ '^\d{1,9}$' then (j.vars->>'jobId')::integer end as jq_job_fk,
         j.type                                                                        as jq_type,
         coalesce(j.msq, j.args)                                                       as jq_args,
         -- Empty: it may run. Without an end: it is managed. What went back to the queue has not started.
         case when j.state not in ('held', 'blocked', 'scheduled', 'ready') then j.started_at end as jq_starttime,
         j.ended_at                                                                    as jq_endtime,
         case j.state when 'succeeded' then 'Completed' when 'failed' then 'Failed' when 'quarantined' then 'Failed'
                      when 'cancelled' then 'Killed' when 'held' then 'Paused'
                      when 'running' then 'Started' when 'assigned' then 'Started' end as jq_endtext,
         case j.state when 'succeeded' then 1 when 'failed' then 2 when 'quarantined' then 2
                      when 'cancelled' then 2 else 0 end                               as jq_end_bits,
         coalesce(j.error, j.host || '.' || j.child, j.host, j.waiting_for)            as jq_schedinfo,
         coalesce(j.items_done, 0)                                                     as jq_itemsprocessed,
         j.vars->>'jq_log'                                                             as jq_log,
         case when j.msq is not null then coalesce(j.vars->>'jq_runonpfile', '') end   as jq_runonpfile,
         j.run_on                                                                      as jq_host,
         j.vars->>'jq_cmd_args'                                                        as jq_cmd_args
    from bellhop.jobqueue j
   where j.type <> 'command';

comment on view fossology.jobqueue is 'bellhop.jobqueue under the names of FOSSology''s own table; rows can be inserted, changed and deleted.';

-- vars_of: what a row says that has no column of its own. User, group and
-- priority come from FOSSology's table job, where there is one.
create or replace function fossology.vars_of(r fossology.jobqueue, out vars jsonb, out priority integer)
language plpgsql stable
set search_path = pg_catalog
as $$
declare
  usr  text;
  grp  text;
begin
  priority := 0;
  if r.jq_job_fk is not null and to_regclass('public.job') is not null then
    execute 'select job_user_fk::text, job_group_fk::text, greatest(-20, least(19, coalesce(job_priority, 0))) from public.job where job_pk = $1'
       into usr, grp, priority using r.jq_job_fk;
    priority := coalesce(priority, 0);
  end if;
  vars := nullif(jsonb_strip_nulls(jsonb_build_object('jobId', r.jq_job_fk::text, 'userID', usr, 'groupID', grp,
            'jq_cmd_args', nullif(r.jq_cmd_args, ''), 'jq_runonpfile', nullif(r.jq_runonpfile, ''), 'jq_log', nullif(r.jq_log, ''))), '{}');
end
$$;

create or replace function fossology.write_jobqueue() returns trigger
language plpgsql security definer
set search_path = pg_catalog
as $$
declare
  is_msq  boolean := nullif(new.jq_runonpfile, '') is not null;
  was     text;
  mine    record;
begin
  if new.jq_type = 'command' then
    raise insufficient_privilege using message = 'commands do not go through fossology.jobqueue',
      hint = 'Insert them into bellhop.jobqueue, as bellhop_operator.';
  end if;
  if tg_op = 'INSERT' then
    select * into mine from fossology.vars_of(new);
    insert into bellhop.jobqueue as j (type, args, msq, run_on, vars, priority, state, started_at, ended_at, items_done)
    values (new.jq_type, case when not is_msq then new.jq_args end, case when is_msq then new.jq_args end, nullif(new.jq_host, ''),
            mine.vars, mine.priority,
            -- A row that comes with its end is a record of what was done elsewhere.
            case when new.jq_endtime is null then 'ready' when new.jq_end_bits = 1 then 'succeeded' else 'failed' end,
            case when new.jq_endtime is not null then coalesce(new.jq_starttime, new.jq_endtime) end, new.jq_endtime,
            nullif(new.jq_itemsprocessed, 0))
    returning j.id into new.jq_pk;
    perform setval('fossology.jobqueue_jq_pk_seq', new.jq_pk);
    return new;
  end if;

  if new.jq_pk <> old.jq_pk then
    raise feature_not_supported using message = 'jq_pk cannot be changed';
  end if;
  select j.state into was from bellhop.jobqueue j where j.id = old.jq_pk for update;
  -- What it is: only before it starts.
  if (new.jq_job_fk, new.jq_type, new.jq_args, new.jq_runonpfile, new.jq_host, new.jq_cmd_args)
     is distinct from (old.jq_job_fk, old.jq_type, old.jq_args, old.jq_runonpfile, old.jq_host, old.jq_cmd_args) then
    if was not in ('held', 'blocked', 'scheduled', 'ready') then
      raise object_not_in_prerequisite_state using message = format('job %s is %s: what it is to do cannot be changed any more', old.jq_pk, was),
        hint = 'Insert another row.';
    end if;
    select * into mine from fossology.vars_of(new);
    update bellhop.jobqueue j
       set type = new.jq_type, args = case when not is_msq then new.jq_args end, msq = case when is_msq then new.jq_args end,
           repeat = case when is_msq then j.repeat end, run_on = nullif(new.jq_host, ''), vars = mine.vars
     where j.id = old.jq_pk;
  elsif new.jq_log is distinct from old.jq_log then
    update bellhop.jobqueue j
       set vars = case when new.jq_log is null then j.vars - 'jq_log' else coalesce(j.vars, '{}') || jsonb_build_object('jq_log', new.jq_log) end
     where j.id = old.jq_pk;
  end if;
  if new.jq_itemsprocessed is distinct from old.jq_itemsprocessed then
    update bellhop.jobqueue j set items_done = new.jq_itemsprocessed where j.id = old.jq_pk;
  end if;
  -- How it goes on with it. An end that is taken away is a new attempt; one that is set is a cancel, unless the job is said to be done.
  if old.jq_endtime is not null and new.jq_endtime is null then
    perform bellhop.retry(old.jq_pk);
  elsif old.jq_endtime is null and (new.jq_endtime is not null or new.jq_end_bits in (1, 2)) then
    if new.jq_end_bits = 1 then
      if was in ('running', 'assigned') then
        raise object_not_in_prerequisite_state using message = format('job %s is %s: it cannot be said to be done', old.jq_pk, was),
          hint = format('Cancel it first: select bellhop.cancel(%s)', old.jq_pk);
      end if;
      update bellhop.jobqueue j
         set state = 'succeeded', started_at = coalesce(j.started_at, new.jq_starttime, clock_timestamp()),
             ended_at = coalesce(new.jq_endtime, clock_timestamp()), waiting_for = null
       where j.id = old.jq_pk;
      perform bellhop.ended(array[old.jq_pk]);
    else
      perform bellhop.cancel(old.jq_pk);
    end if;
  end if;
  return new;
end
$$;

create or replace function fossology.delete_jobqueue() returns trigger
language plpgsql security definer
set search_path = pg_catalog
as $$
begin
  -- Whoever runs it finds that it is his no more, and stops.
  delete from bellhop.jobqueue j where j.id = old.jq_pk;
  return old;
end
$$;

create or replace trigger write instead of insert or update on fossology.jobqueue
  for each row execute function fossology.write_jobqueue();
create or replace trigger del instead of delete on fossology.jobqueue
  for each row execute function fossology.delete_jobqueue();

create or replace function fossology.write_jobdepends() returns trigger
language plpgsql security definer
set search_path = pg_catalog
as $$
begin
  if tg_op in ('UPDATE', 'DELETE') then
    delete from bellhop.dependency d where d.job = old.jdep_jq_fk and d.needs = old.jdep_jq_depends_fk;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  insert into bellhop.dependency (job, needs) values (new.jdep_jq_fk, new.jdep_jq_depends_fk) on conflict do nothing;
  return new;
end
$$;

create or replace view fossology.jobdepends as
  select d.job as jdep_jq_fk, d.needs as jdep_jq_depends_fk from bellhop.dependency d;
create or replace trigger write instead of insert or update or delete on fossology.jobdepends
  for each row execute function fossology.write_jobdepends();

do $$
begin
  if exists (select 1 from pg_roles where rolname = 'bellhop_operator') then
    grant usage on schema fossology to bellhop_operator;
    grant select, insert, update, delete on all tables in schema fossology to bellhop_operator;
    grant usage, select on sequence fossology.jobqueue_jq_pk_seq to bellhop_operator;
  end if;
  revoke all on all functions in schema fossology from public;
end
$$;
