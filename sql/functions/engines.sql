-- remote: the work that runs, or ran, on engines. Readers see all of it except what the engine said; a submitter sees
-- its own jobs.
create or replace view bellhop.remote with (security_barrier) as
  select e.job, e.tag, e.attempt, e.type, e.engine, e.engine_id, e.state, e.stage, e.how, e.exit_code, e.reason,
         case when (select bellhop.is_operator())
                or (select q.submitted_by from bellhop.jobqueue q where q.id = e.job) = any ((select bellhop.own_roles())::text[])
              then e.said end as said,
         e.sent_at, e.ran_at, e.ended_at, e.changed_at, e.instance
    from bellhop.engine_job e
   where (select bellhop.is_reader())
      or (select q.submitted_by from bellhop.jobqueue q where q.id = e.job) = any ((select bellhop.own_roles())::text[]);

-- unwanted_remote: this job's work on an engine is not what the job is to do now. The next claim submits it again, and
-- an instance that watches the type kills the old work. A job between two watchers has such work in any state. Index:
-- engine_job_one.
-- Grant: scheduler
create or replace function bellhop.unwanted_remote(job bigint) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  update bellhop.engine_job e set state = 'killing', changed_at = clock_timestamp()
   where e.job = unwanted_remote.job and e.state in ('submitting', 'running', 'ended')
$$;

revoke all on bellhop.remote from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.remote to bellhop_submitter, bellhop_reader, bellhop_scheduler;
  end if;
end
$$;
