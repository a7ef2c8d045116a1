-- What a job gives back, and how far it is. Locks: ACCESS EXCLUSIVE for a moment; no row is read or written.
alter table bellhop.jobqueue
  add column result        jsonb, -- written with the outcome
  add column progress      real,  -- 0 … 1
  add column progress_text text;
comment on column bellhop.jobqueue.result is 'what its agent gave back; for operators and its submitter';
comment on column bellhop.jobqueue.progress is 'how far it is, 0 to 1, by what its agent says';

-- Whether max_attempts is the job's own, also where it is 1, which is the default: else the type's policy counts
-- (agents[].retry). More than 1 is the job's own in any case.
alter table bellhop.jobqueue add column own_attempts boolean;
alter table bellhop.agent add column attempts integer not null default 1; -- of its jobs that do not say it themselves

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_submitter') then
    grant insert (own_attempts) on bellhop.jobqueue to bellhop_submitter;
  end if;
end
$$;
