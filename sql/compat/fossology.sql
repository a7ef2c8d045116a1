-- FOSSology's front end keeps its own names: fossology.jobqueue and
-- fossology.jobdepends are views of the queue that can be written to. Put in
-- place by `bellhop migrate --compat fossology`, as often as you like; taken
-- away by `drop schema fossology cascade`, which touches no job.
--
-- A row that comes through the view starts after a moment, in which the session that inserted it may still say that it
-- is done (the front end's importer does), or the front end says `database` to the scheduler's port, which ends the
-- moment. One second; `alter database … set fossology.grace = '200ms'` is another.

create schema if not exists fossology;

-- The front end asks for currval of this one after an INSERT.
create sequence if not exists fossology.jobqueue_jq_pk_seq;

create or replace view fossology.jobqueue as
  select j.id                                                                          as jq_pk,
         case when j.vars->>'jobId' ~ e'^\\d{1,10}$' and (j.vars->>'jobId')::bigint <= 2147483647
              then (j.vars->>'jobId')::integer end                                     as jq_job_fk,
         j.type                                                                        as jq_type,
         coalesce(j.msq, j.args)                                                       as jq_args,
         -- Empty: it may run. Without an end: it is managed. What went back to the queue has not started.
         case when j.state not in ('held', 'blocked', 'scheduled', 'ready') then j.started_at end as jq_starttime,
         j.ended_at                                                                    as jq_endtime,
         case j.state when 'succeeded' then 'Completed' when 'failed' then coalesce('Killed by ' || j.killed_by, 'Failed') when 'quarantined' then 'Failed'
                      when 'cancelled' then 'Killed' when 'held' then 'Paused'
                      when 'running' then 'Started' when 'assigned' then 'Started' end as jq_endtext,
         case j.state when 'succeeded' then 1 when 'failed' then 2 when 'quarantined' then 2
                      when 'cancelled' then 2 else 0 end                               as jq_end_bits,
         coalesce(j.error, j.host || '.' || j.child, j.host, j.waiting_for)            as jq_schedinfo,
         coalesce(j.items_done, 0)                                                     as jq_itemsprocessed,
         j.vars->>'jq_log'                                                             as jq_log,
         coalesce(j.vars->>'jq_runonpfile', case when j.msq is not null then '' end)   as jq_runonpfile,
         j.run_on                                                                      as jq_host,
         j.vars->>'jq_cmd_args'                                                        as jq_cmd_args
    from bellhop.jobqueue j
   where j.type <> 'command';

comment on view fossology.jobqueue is 'bellhop.jobqueue under the names of FOSSology''s own table; rows can be inserted, changed and deleted.';

-- is_query: whether jq_args is a query, which jq_runonpfile says by naming one of its columns. Everything else is data:
-- today's front end passes the word "no", or nothing, beside text that its users have typed, and data that is run as SQL
-- cannot be called back. So only what can be seen in the text counts: it begins with SELECT, and the name is the output
-- name of an item of its list. What this cannot read for certain (comments, dollar quotes, E'…', WITH, *) is data.
create or replace function fossology.is_query(args text, named text) returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  rest text := is_query.args;
  was  text;
  item text;
begin
  if is_query.named is null or is_query.args is null or is_query.named !~ '^[A-Za-z_][A-Za-z0-9_]*$'
     or lower(is_query.named) in ('no', 'yes', 'n', 'y', 'true', 'false', 'none', 'null')
     or rest !~* e'^\\s*select\\s' or rest ~ e'--|/\\*|\\$\\w*\\$|\\m[eEuUbBxX]&?''' then
    return false;
  end if;
  rest := regexp_replace(rest, '''([^'']|'''')*''', ' 0 ', 'g');
  rest := regexp_replace(rest, e'^\\s*select\\s+(all\\s+)?', '', 'i');
  rest := regexp_replace(rest, e'^distinct\\s*\\(\\s*([\\w.]+)\\s*\\)', e'\\1', 'i');
  rest := regexp_replace(rest, e'^distinct\\s+', '', 'i');
  loop -- what stands in parentheses has commas and FROMs of its own
    was := rest;
    rest := regexp_replace(rest, e'\\([^()]*\\)', ' 0 ', 'g');
    exit when rest = was;
  end loop;
  if rest ~ '[()'']' or strpos(rest, ';') > 0 and rest !~ e';\\s*$' then
    return false;
  end if;
  rest := regexp_replace(rest, e'\\s+(from|where|group|having|order|limit|offset|union|intersect|except|window|for|into)\\M.*$|;\\s*$', '', 'i');
  foreach item in array string_to_array(rest, ',') loop
    -- `pfile_pk`, `p.pfile_pk`, `… as pfile_pk`, `… pfile_pk`, and each with quotes around the name
    if item ~ (e'(^|[\\s.])"' || is_query.named || e'"\\s*$') or item ~* (e'(^|[\\s.])' || is_query.named || e'\\s*$') then
      return true;
    end if;
  end loop;
  return false;
end
$$;

drop function if exists fossology.vars_of(fossology.jobqueue); -- of earlier versions, which read public.job as the views' owner

-- job_of: user, group and priority come from FOSSology's table job, where there is one. It is read with the rights of the
-- login that inserts: that is the front end's, whose table it is. Never as the owner of the views: what a policy, a cast
-- or a view in its place calls would have the owner's rights.
create or replace function fossology.job_of(fk integer, out usr text, out grp text, out priority integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  job oid := (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relname = 'job');
begin
  priority := 0;
  if job_of.fk is null or job is null then
    return;
  end if;
  if not (has_schema_privilege(current_user, 'public', 'usage') and has_table_privilege(current_user, job, 'select')) then
    raise insufficient_privilege using
      message = format('the user, the group and the priority of job %s are in public.job, which %s may not read', job_of.fk, current_user),
      hint = format('As the owner of public.job: grant usage on schema public to %1$I; grant select on public.job to %1$I', current_user);
  end if;
  execute 'select job_user_fk::text, job_group_fk::text, greatest(-20, least(19, coalesce(job_priority, 0))) from public.job where job_pk = $1'
     into usr, grp, priority using job_of.fk;
  priority := coalesce(priority, 0);
end
$$;

-- said_done: a row is done because the front end says so. What runs for it finds that it is its job no more, and stops; one
-- that had failed gets a new attempt, which is over at once.
create or replace function fossology.said_done(id bigint, began timestamptz, ended timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  was text;
  new boolean;
begin
  select j.state into was from bellhop.jobqueue j where j.id = said_done.id for update;
  if was = 'succeeded' then
    return;
  end if;
  new := was in ('failed', 'cancelled', 'quarantined');
  if new then
    perform bellhop.retry(said_done.id);
  end if;
  update bellhop.jobqueue j
     set state = 'succeeded', started_at = coalesce(j.started_at, said_done.began, clock_timestamp()),
         attempt = j.attempt + new::integer, attempt_at = case when new then clock_timestamp() else j.attempt_at end,
         ended_at = greatest(coalesce(said_done.ended, clock_timestamp()), case when new then clock_timestamp() end),
         waiting_for = null, error = null, unmet = null, cancel_requested = was in ('running', 'assigned')
   where j.id = said_done.id;
  if was in ('running', 'assigned') then
    perform pg_notify('bellhop_cancel', '');
  end if;
  perform bellhop.ended(array[said_done.id]);
end
$$;

-- write_row: an INSERT (old is null) or UPDATE of the view. Returns the row's jq_pk.
create or replace function fossology.write_row(old fossology.jobqueue, new fossology.jobqueue, usr text, grp text, priority integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  is_msq  boolean := fossology.is_query(new.jq_args, new.jq_runonpfile);
  grace   interval := coalesce(nullif(current_setting('fossology.grace', true), ''), '1s');
  extra   jsonb := nullif(jsonb_strip_nulls(jsonb_build_object('jobId', new.jq_job_fk::text, 'userID', usr, 'groupID', grp,
                     'jq_cmd_args', nullif(new.jq_cmd_args, ''), 'jq_runonpfile', nullif(new.jq_runonpfile, ''), 'jq_log', nullif(new.jq_log, ''))), '{}');
  was     bellhop.jobqueue;
begin
  if new.jq_type = 'command' then
    raise insufficient_privilege using message = 'commands do not go through fossology.jobqueue',
      hint = 'Insert them into bellhop.jobqueue, as bellhop_operator.';
  end if;
  if old.jq_pk is null then
    if new.jq_pk <= 0 then
      raise numeric_value_out_of_range using message = format('jq_pk is %s: it begins at 1', new.jq_pk);
    elsif new.jq_pk > (select s.last_value from bellhop.jobqueue_id_seq s) then -- nobody is to be given this one again
      perform setval('bellhop.jobqueue_id_seq', greatest(new.jq_pk, nextval('bellhop.jobqueue_id_seq')));
    end if;
    insert into bellhop.jobqueue as j (id, type, args, msq, run_on, vars, priority, run_at, state, started_at, ended_at, items_done, waiting_for)
    overriding system value
    values (coalesce(new.jq_pk, nextval('bellhop.jobqueue_id_seq')), new.jq_type,
            case when not is_msq then new.jq_args end, case when is_msq then new.jq_args end, nullif(new.jq_host, ''),
            extra, write_row.priority,
            case when new.jq_endtime is null and grace > interval '0' then clock_timestamp() + grace end,
            -- A row that comes with its end is a record of what was done elsewhere.
            case when new.jq_endtime is null then 'ready' when new.jq_end_bits = 1 then 'succeeded' else 'failed' end,
            case when new.jq_endtime is not null then coalesce(new.jq_starttime, new.jq_endtime) end, new.jq_endtime,
            nullif(new.jq_itemsprocessed, 0),
            case when new.jq_endtime is null and grace > interval '0' then 'fossology_grace' end)
    returning j.id into new.jq_pk;
    perform setval('fossology.jobqueue_jq_pk_seq', new.jq_pk);
    return new.jq_pk;
  end if;

  if new.jq_pk <> old.jq_pk then
    raise feature_not_supported using message = 'jq_pk cannot be changed';
  end if;
  select * into was from bellhop.jobqueue j where j.id = old.jq_pk for update;
  if (new.jq_args, new.jq_runonpfile) is not distinct from (old.jq_args, old.jq_runonpfile) then
    is_msq := was.msq is not null; -- it may have come in another way than through this view
  end if;
  -- What it is: only before it starts.
  if (new.jq_job_fk, new.jq_type, new.jq_args, new.jq_runonpfile, new.jq_host, new.jq_cmd_args)
     is distinct from (old.jq_job_fk, old.jq_type, old.jq_args, old.jq_runonpfile, old.jq_host, old.jq_cmd_args) then
    if was.state not in ('held', 'blocked', 'scheduled', 'ready') then
      raise object_not_in_prerequisite_state using message = format('job %s is %s: what it is to do cannot be changed any more', old.jq_pk, was.state),
        hint = 'Insert another row.';
    end if;
    update bellhop.jobqueue j
       set type = new.jq_type, args = case when not is_msq then new.jq_args end, msq = case when is_msq then new.jq_args end,
           repeat = case when is_msq then j.repeat end, run_on = nullif(new.jq_host, ''), vars = extra
     where j.id = old.jq_pk;
  elsif new.jq_log is distinct from old.jq_log then
    update bellhop.jobqueue j
       set vars = case when new.jq_log is null then j.vars - 'jq_log' else coalesce(j.vars, '{}') || jsonb_build_object('jq_log', new.jq_log) end
     where j.id = old.jq_pk;
  end if;
  -- How it goes on with it. An end that is taken away is a new attempt; one that is set is a cancel, unless the job is said to be done.
  if old.jq_endtime is not null and new.jq_endtime is null then
    perform bellhop.retry(old.jq_pk);
  elsif new.jq_end_bits = 1 and (old.jq_end_bits <> 1 or old.jq_endtime is null) then
    perform fossology.said_done(old.jq_pk, new.jq_starttime, new.jq_endtime);
  elsif old.jq_endtime is null and (new.jq_endtime is not null or new.jq_end_bits in (2, 3)) then
    perform bellhop.cancel(old.jq_pk);
  elsif old.jq_endtime is not null and new.jq_end_bits is distinct from old.jq_end_bits then
    raise notice 'job % is %: nothing of it is changed', old.jq_pk, was.state;
  end if;
  if new.jq_itemsprocessed is distinct from old.jq_itemsprocessed then
    update bellhop.jobqueue j set items_done = new.jq_itemsprocessed where j.id = old.jq_pk;
  end if;
  return new.jq_pk;
end
$$;

create or replace function fossology.write_jobqueue() returns trigger
language plpgsql security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  usr text;
  grp text;
  pri integer := 0;
begin
  if tg_op = 'INSERT' or (new.jq_job_fk, new.jq_type, new.jq_args, new.jq_runonpfile, new.jq_host, new.jq_cmd_args)
     is distinct from (old.jq_job_fk, old.jq_type, old.jq_args, old.jq_runonpfile, old.jq_host, old.jq_cmd_args) then
    select j.usr, j.grp, j.priority into usr, grp, pri from fossology.job_of(new.jq_job_fk) j;
  end if;
  new.jq_pk := fossology.write_row(old, new, usr, grp, pri);
  return new;
end
$$;

create or replace function fossology.delete_jobqueue() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from bellhop.jobqueue j where j.id = old.jq_pk;
  perform pg_notify('bellhop_cancel', ''); -- what runs for it is nobody's any more, and stops
  return old;
end
$$;

create or replace trigger write instead of insert or update on fossology.jobqueue
  for each row execute function fossology.write_jobqueue();
create or replace trigger del instead of delete on fossology.jobqueue
  for each row execute function fossology.delete_jobqueue();

create or replace function fossology.write_jobdepends() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
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
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant execute on function fossology.job_of, fossology.write_row to bellhop_operator;
  end if;
end
$$;
