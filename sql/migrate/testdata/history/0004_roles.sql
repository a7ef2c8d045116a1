-- Roles, where the migrating role may make them; `doctor` tells what is
-- missing. They belong to the server, not to this database, so another
-- database may have made them first.
do $$
declare
  r text;
begin
  if not (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
    raise notice 'bellhop: % may not create roles; grant them by hand', current_user;
    return;
  end if;
  foreach r in array array['bellhop_submitter', 'bellhop_reader', 'bellhop_operator', 'bellhop_scheduler'] loop
    begin
      execute format('create role %I nologin', r);
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
end
$$;

revoke all on schema bellhop from public;
revoke all on all tables in schema bellhop from public;
revoke all on all functions in schema bellhop from public;

-- What readers see: no arguments, no variables, no queries.
create view bellhop.job as
  select id, type, state, held, priority, priority_name, key, run_on, attempt, max_attempts, deaths, fence, host, child, instance,
         created_at, run_at, started_at, attempt_at, ended_at, exit_code, error, waiting_for, cancel_requested, on_failure, locks, reasons, (msq is not null) as is_msq,
         items_total, items_done, items_failed, traceparent
    from bellhop.jobqueue;

do $$
begin
  if not exists (select 1 from pg_roles where rolname = 'bellhop_submitter') then
    return;
  end if;
  grant usage on schema bellhop to bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler;
  -- Whoever talks to the schema may find out which one it is.
  grant select on bellhop.schema_version, bellhop.schema_script to bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler;

  grant insert (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons, max_attempts, timeout,
                on_failure, traceparent),
        select (id) on bellhop.jobqueue to bellhop_submitter;
  grant execute on function bellhop.submit, bellhop.kick, bellhop.locks_ok, bellhop.priority_of to bellhop_submitter;

  grant select on bellhop.job, bellhop.attempt, bellhop.instance, bellhop.host, bellhop.agent, bellhop.child to bellhop_reader;

  grant bellhop_submitter, bellhop_reader to bellhop_operator;
  grant select on bellhop.jobqueue, bellhop.log, bellhop.item, bellhop.attempt_past to bellhop_operator;
  grant execute on function bellhop.release, bellhop.cancel, bellhop.retry to bellhop_operator;

  grant select, insert, update, delete on all tables in schema bellhop to bellhop_scheduler;
  grant usage on all sequences in schema bellhop to bellhop_scheduler;
  grant execute on all functions in schema bellhop to bellhop_scheduler;
end
$$;
