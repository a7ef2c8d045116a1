-- What readers see of jobs: no arguments, no variables, no queries. Agents' words are shown only to operators, and to
-- the job's submitter.

-- reason_of: the part of an error that neither an agent nor a query wrote. An error without a reason was written by
-- SQL, or by a bellhop that did not separate the two: then the text behind the exit status is left out. A reason with
-- which the error does not begin belongs to an earlier error.
-- Grant: submitter reader scheduler
create or replace function bellhop.reason_of(error text, reason text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    -- The error is what the agent said, and no more: scheduler.SaidFailed.
    when reason = 'the agent said that it failed' then case when starts_with(error, 'killed: by ') then 'killed: by an operator' else reason end
    when starts_with(error, reason || ': ') then reason
    when error ~ e'^msq_error: .*\\(SQLSTATE [0-9A-Z]{5}\\)' then regexp_replace(error, e'^(msq_error): .*?\\(SQLSTATE ([0-9A-Z]{5})\\).*$', e'\\1: SQLSTATE \\2')
    else regexp_replace(error, e'^(.*?(exit status [0-9]+|killed by signal [0-9]+ \\([^)]*\\)|killed on order|BYE -?[0-9]+)): .*$', e'\\1')
  end
$$;

-- every_job: all jobs, with the columns of bellhop.job, for readers that page through a long queue (`ls`, `top`): an
-- order and a limit do not get through the barrier of that view to the indexes.
create or replace view bellhop.every_job as
  select id, q.type, state, held, priority, priority_name, key, run_on, attempt,
         -- The job's own number, or that of its type.
         case when max_attempts > 1 or own_attempts then max_attempts
              else coalesce((select max(a.attempts) from bellhop.agent a join bellhop.instance i on i.id = a.instance and i.state = 'live' where a.type = q.type), 1)
         end as max_attempts, deaths, fence, host, child, instance,
         created_at, run_at, started_at, attempt_at, ended_at, exit_code,
         case when (select bellhop.is_operator()) or submitted_by = any ((select bellhop.own_roles())::text[]) then error else bellhop.reason_of(error, reason) end as error,
         waiting_for, cancel_requested, on_failure, locks, reasons, (msq is not null) as is_msq,
         items_total, items_done, items_failed, traceparent, successes, unmet, ended_by, submitted_by, lost,
         case when (select bellhop.is_operator()) or submitted_by = any ((select bellhop.own_roles())::text[]) then result end as result,
         case when state = 'succeeded' and progress is not null then 1 else progress end as progress,
         case when (select bellhop.is_operator()) or submitted_by = any ((select bellhop.own_roles())::text[]) then progress_text end as progress_text,
         run, step, not_after, ended_as, share
    from bellhop.jobqueue q;

-- job: readers see all jobs, a submitter its own. The barrier keeps the caller's functions from rows that are not
-- shown. Each (select …) runs once a query.
create or replace view bellhop.job with (security_barrier) as
  select * from bellhop.every_job
   where (select bellhop.is_reader()) or submitted_by = any ((select bellhop.own_roles())::text[]);

create or replace view bellhop.attempt with (security_barrier) as
  select job, attempt, host, child, started_at, ended_at, exit_code,
         case when (select bellhop.is_operator())
                or (select q.submitted_by from bellhop.jobqueue q where q.id = job) = any ((select bellhop.own_roles())::text[])
              then error else bellhop.reason_of(error, reason) end as error, successes, spawned_at
    from bellhop.attempt_past
   where (select bellhop.is_reader())
      or (select q.submitted_by from bellhop.jobqueue q where q.id = job) = any ((select bellhop.own_roles())::text[])
  union all
  select j.id, j.attempt, j.host, j.child, coalesce(j.attempt_at, j.started_at), j.ended_at, j.exit_code,
         case when (select bellhop.is_operator()) or j.submitted_by = any ((select bellhop.own_roles())::text[]) then j.error else bellhop.reason_of(j.error, j.reason) end, j.successes,
         j.spawned_at
    from bellhop.jobqueue j
   where j.attempt > 0 and j.started_at is not null
     and j.state in ('running', 'succeeded', 'failed', 'cancelled', 'quarantined')
     and not exists (select 1 from bellhop.attempt_past p where p.job = j.id and p.attempt = j.attempt)
     and ((select bellhop.is_reader()) or j.submitted_by = any ((select bellhop.own_roles())::text[]));
comment on view bellhop.attempt is 'Every try at a job, the running one included.';

-- lost: runs that were lost and given back; they are not attempts. Readers see all of them, a submitter those of its
-- own jobs.
create or replace view bellhop.lost with (security_barrier) as
  select l.job, l.n, l.attempt, l.fence, l.host, l.child, l.instance, l.spawned_at, l.started_at, l.lost_at, l.reason
    from bellhop.lost_run l
   where (select bellhop.is_reader())
      or (select q.submitted_by from bellhop.jobqueue q where q.id = l.job) = any ((select bellhop.own_roles())::text[]);

-- job_log: agents' words. Operators see all of them, a submitter those about its own jobs.
create or replace view bellhop.job_log with (security_barrier) as
  select l.id, l.job, l.attempt, l.child, l.host, l.level, l.at, l.line
    from bellhop.log l
   where (select pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.log'::regclass, 'select'))
      or (select q.submitted_by from bellhop.jobqueue q where q.id = l.job) = any ((select bellhop.own_roles())::text[]);

-- payload: the values with which jobs were submitted. Operators see all of them, a submitter those of its own jobs.
create or replace view bellhop.payload with (security_barrier) as
  select j.id, j.args, j.msq, j.repeat, j.vars, j.timeout, j.held, j.successes, j.deaths
    from bellhop.jobqueue j
   where (select pg_catalog.has_table_privilege(bellhop.caller(), 'bellhop.jobqueue'::regclass, 'select'))
      or j.submitted_by = any ((select bellhop.own_roles())::text[]);

revoke all on bellhop.every_job, bellhop.job, bellhop.attempt, bellhop.lost, bellhop.job_log, bellhop.payload from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.job, bellhop.attempt to bellhop_submitter, bellhop_reader;
    grant select, insert, update, delete on bellhop.job, bellhop.attempt to bellhop_scheduler;
    grant select on bellhop.every_job to bellhop_reader, bellhop_scheduler;
    grant select on bellhop.lost to bellhop_submitter, bellhop_reader, bellhop_scheduler;
    grant select on bellhop.job_log to bellhop_submitter, bellhop_operator, bellhop_scheduler;
    grant select on bellhop.payload to bellhop_submitter, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
