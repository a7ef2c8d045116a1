-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.jobqueue, bellhop.agent and bellhop.attempt_past, for a moment.
-- Apps take jobs in sessions of their own, without an instance (../functions/workers.sql).
-- lease_until: a worker has the job until then; its instance is 0. NULL: no worker has it.
alter table bellhop.jobqueue add column lease_until timestamptz;
-- How long a failed job of the type rests: first pause and longest pause in s, factor, jitter (scheduler.RetryPolicy).
alter table bellhop.agent add column pauses real[] not null default '{1,300,2,0.5}';
-- own: the agent itself ended the attempt, in a transaction of its own.
alter table bellhop.attempt_past add column own boolean;

-- The types whose jobs a login may take and finish. Operators write it.
create table bellhop.worker_type (
  login name not null,
  type  text not null,
  primary key (login, type)
);
comment on table bellhop.worker_type is 'The types whose jobs a login, or the members of a role, may take and finish.';
revoke all on bellhop.worker_type from public;

do $$
begin
  if (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
    begin
      create role bellhop_worker nologin;
    exception when duplicate_object or unique_violation then
      null;
    end;
  else
    raise notice 'bellhop: % may not create the role bellhop_worker; a superuser does: bellhop install roles', current_user;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_worker') then
    grant usage on schema bellhop to bellhop_worker;
    grant select on bellhop.schema_version, bellhop.schema_script to bellhop_worker;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select, insert, delete on bellhop.worker_type to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.worker_type to bellhop_scheduler;
  end if;
end
$$;
