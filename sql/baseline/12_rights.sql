-- The roles and their rights on the tables. Functions name their callers themselves (their Grant lines). Roles belong to the
-- server: another database may have made them first, or make them now. A login that may not make roles goes on without
-- them: a superuser puts them in place later, by `bellhop install roles`, and `bellhop doctor` tells what is missing.
do $$
declare
  r record;
begin
  if (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
    -- The last is a login, for turns at users' tables. It has no password: pg_hba.conf lets it in, or it is given one.
    for r in select * from (values ('submitter', 'nologin'), ('reader', 'nologin'), ('operator', 'nologin'), ('scheduler', 'nologin'),
                                   ('attach', 'login')) as x (name, login) loop
      begin
        execute format('create role bellhop_%s %s', r.name, r.login);
      exception when duplicate_object or unique_violation then
        null;
      end;
    end loop;
  else
    raise notice 'bellhop: % may not create roles; a superuser does: bellhop install roles', current_user;
  end if;
  -- An operator can do what submitters and readers can. The scheduler's login answers requests under the roles of their
  -- callers, so it is a member of all three.
  for r in select x.role, x.member
             from (values ('submitter', 'operator'), ('reader', 'operator'), ('operator', 'scheduler')) as x (role, member)
             join pg_roles o on o.rolname = 'bellhop_' || x.role
             join pg_roles m on m.rolname = 'bellhop_' || x.member
            where not exists (select from pg_auth_members a where a.roleid = o.oid and a.member = m.oid) loop
    begin
      execute format('grant bellhop_%s to bellhop_%s', r.role, r.member);
    exception
      when insufficient_privilege then
        raise notice 'bellhop: % may not grant bellhop_% to bellhop_%; bellhop install roles does', current_user, r.role, r.member;
      when unique_violation then
        null;
    end;
  end loop;
end
$$;

revoke all on schema bellhop, bellhop_attached from public;
revoke all on all tables in schema bellhop from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_submitter') then
    grant usage on schema bellhop to bellhop_submitter;
    grant select on bellhop.schema_version, bellhop.schema_script to bellhop_submitter;
    -- The columns of a job that are its submitter's to choose, and the id that comes back.
    grant select (id), insert (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,
                               max_attempts, timeout, on_failure, traceparent, own_attempts, not_after)
      on bellhop.jobqueue to bellhop_submitter;
    grant insert (job, needs, wanted) on bellhop.dependency to bellhop_submitter;
  end if;

  -- A reader sees no arguments, variables, queries, commands, parameters and addresses, and no words of agents.
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant usage on schema bellhop to bellhop_reader;
    grant select on bellhop.schema_version, bellhop.schema_script, bellhop.dependency, bellhop.rjm,
                    bellhop.instance, bellhop.host, bellhop.agent, bellhop.child, bellhop.located, bellhop.paused,
                    bellhop.lock_waiting, bellhop.filter, bellhop.set_aside, bellhop.sensor, bellhop.manager_stop,
                    bellhop.operation, bellhop.history, bellhop.sketch, bellhop.housekeeping to bellhop_reader;
    grant select (id, name, rel, type, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column, attached_by, attached_at,
                  state, trouble, state_since, turn, detached_at) on bellhop.attachment to bellhop_reader;
    grant select (attachment, digest, key, job, live) on bellhop.attached to bellhop_reader;
    grant select (name, project, active, version, instance, changed_at, changed_by) on bellhop.workflow to bellhop_reader;
    grant select (workflow, version, what, active, changed_at, changed_by) on bellhop.workflow_past to bellhop_reader;
    grant select (id, workflow, version, event, triggered_by, state, created_at, started_at, ended_at, reason) on bellhop.run to bellhop_reader;
    grant select (workflow, event, at, run, slot) on bellhop.event to bellhop_reader;
    grant select (id, message, run, workflow, project, state, ended_at, channel, status, tries, at, next_at, until, instance, sent_at)
      on bellhop.notice to bellhop_reader;
  end if;

  -- An operator sees everything of jobs, and changes them by functions.
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant usage on schema bellhop, bellhop_attached to bellhop_operator;
    grant create on schema bellhop_attached to bellhop_operator;
    grant select on bellhop.schema_version, bellhop.schema_script, bellhop.jobqueue, bellhop.deadline, bellhop.attempt_past, bellhop.lost_run,
                    bellhop.log, bellhop.item, bellhop.agent_words, bellhop.filter, bellhop.attachment, bellhop.attached, bellhop.set_aside,
                    bellhop.workflow, bellhop.workflow_past, bellhop.sensor, bellhop.run, bellhop.event, bellhop.manager_stop,
                    bellhop.notice_rule, bellhop.run_end, bellhop.notice, bellhop.housekeeping to bellhop_operator;
    -- Not rel and the columns of an attachment that is there: its function has the rights of another role.
    grant insert (name, rel, type, cmd, pool, workdir, log_dir, key_columns, dispatch_column, status_column, exit_column), update (pool), delete
      on bellhop.attachment to bellhop_operator;
    grant delete on bellhop.set_aside to bellhop_operator;
  end if;

  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant usage on schema bellhop, bellhop_attached to bellhop_scheduler;
    grant select, insert, update, delete on
      bellhop.schema_version, bellhop.schema_script, bellhop.jobqueue, bellhop.deadline, bellhop.rjm, bellhop.dependency,
      bellhop.attempt_past, bellhop.lost_run, bellhop.log, bellhop.item,
      bellhop.instance, bellhop.host, bellhop.agent, bellhop.agent_words, bellhop.child, bellhop.asserted, bellhop.located, bellhop.paused,
      bellhop.lock_grant, bellhop.lock_reserved, bellhop.lock_wait, bellhop.attachment, bellhop.attached, bellhop.set_aside,
      bellhop.workflow, bellhop.workflow_past, bellhop.sensor, bellhop.run, bellhop.event,
      bellhop.notice_rule, bellhop.run_end, bellhop.notice, bellhop.engine_job,
      bellhop.operation, bellhop.operation_part, bellhop.operation_job, bellhop.history, bellhop.sketch, bellhop.sign_in
      to bellhop_scheduler;
    grant select, update on bellhop.lock_scan, bellhop.housekeeping, -- of one row each
                            bellhop.startable, bellhop.lockable      -- UPDATE is what FOR UPDATE asks for
      to bellhop_scheduler;
    grant select on bellhop.lock_waiting, bellhop.filter, bellhop.manager_stop to bellhop_scheduler;
    grant usage on sequence bellhop.jobqueue_id_seq, bellhop.instance_id_seq, bellhop.log_id_seq, bellhop.attachment_id_seq,
                            bellhop.operation_id_seq, bellhop.event_number to bellhop_scheduler;
  end if;

  if exists (select from pg_roles where rolname = 'bellhop_attach') then
    grant usage on schema bellhop, bellhop_attached to bellhop_attach;
  end if;
end
$$;
