-- caller: the role that asks, for every function that decides by it. It is not current_user: in a function that runs
-- with the rights of the schema's owner, that is the owner. It is the role of SET ROLE, or else the login; neither can
-- be a role that the caller is not a member of. Parsed when it is made, so it needs no search_path and is expanded
-- where it is called.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.caller() returns name
language sql stable parallel safe
begin atomic
  select case when pg_catalog.current_setting('role') = 'none' then session_user else pg_catalog.current_setting('role')::name end;
end;

-- believed: a setting of this session, which any login may set. It is believed only from a login that schedules, since
-- the pages and the API of such a login have identified their caller. NULL: from another, or nothing.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.believed(setting text) returns text
language plpgsql stable parallel safe -- whose plan is kept: this is asked for each change
set search_path = pg_catalog, pg_temp
as $$
begin
  if pg_has_role(session_user, (select c.relowner from pg_class c where c.oid = 'bellhop.jobqueue'::regclass), 'member')
     or (select pg_has_role(session_user, r.oid, 'member') from pg_roles r where r.rolname = 'bellhop_scheduler') then
    return nullif(current_setting(setting, true), '');
  end if;
  return null;
end
$$;

-- actor: the name under which a change is kept: the login, or the caller that the pages or the API have identified. It
-- permits nothing: permissions go by the caller.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.actor() returns text
language sql stable parallel safe
begin atomic
  select coalesce(bellhop.believed('bellhop.actor'), session_user);
end;

-- is_operator: whether the caller may do what operators may: the schema's owner, and members of bellhop_operator.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.is_operator() returns boolean
language sql stable parallel safe
begin atomic
  select pg_catalog.pg_has_role(bellhop.caller(), (select c.relowner from pg_catalog.pg_class c where c.oid = 'bellhop.jobqueue'::regclass), 'member')
      or coalesce((select pg_catalog.pg_has_role(bellhop.caller(), r.oid, 'member') from pg_catalog.pg_roles r where r.rolname = 'bellhop_operator'), false);
end;

-- own_roles: the roles whose jobs are the caller's: the caller itself, and the roles of which it is a member.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.own_roles() returns text[]
language sql stable parallel safe
begin atomic
  select array(select r.rolname::text from pg_catalog.pg_roles r where pg_catalog.pg_has_role(bellhop.caller(), r.oid, 'member'));
end;

-- owns: whether a job with this submitter is the caller's. NULL is an old job: its submitter was not recorded, and is
-- unknown.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.owns(submitted_by text) returns boolean
language sql stable parallel safe
begin atomic
  select coalesce(submitted_by = bellhop.caller()::text or submitted_by = any (bellhop.own_roles()), false);
end;

-- is_reader: whether the caller may see the jobs of others: whether it may read what bellhop_reader may.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.is_reader() returns boolean
language sql stable parallel safe
begin atomic
  select pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.instance'::regclass, 'select');
end;

-- may_change: whether the caller may release, cancel and retry such a job. Any caller may change its own jobs; an
-- operator, and a login that schedules, may change all.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.may_change(submitted_by text) returns boolean
language sql stable parallel safe
begin atomic
  select bellhop.owns(submitted_by) or bellhop.is_operator()
      or pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.jobqueue'::regclass, 'update');
end;

-- refuse_others: whether there is such a job as far as the caller may know. Raises an error if the caller may see the
-- job but not change it.
-- Grant: scheduler
create or replace function bellhop.refuse_others(id bigint, verb text) returns boolean
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j record;
begin
  select q.submitted_by into j from bellhop.jobqueue q where q.id = refuse_others.id;
  if not found then
    return false;
  elsif bellhop.may_change(j.submitted_by) then
    return true;
  elsif not bellhop.is_reader() then
    return false;
  end if;
  raise insufficient_privilege using
    message = format('permission denied: %s may not %s job %s, which %s', bellhop.caller(), verb, refuse_others.id,
                     coalesce(j.submitted_by || ' has submitted', 'was submitted before that was kept')),
    hint = format('That is for its submitter and for operators: grant bellhop_operator to %I.', bellhop.caller());
end
$$;
