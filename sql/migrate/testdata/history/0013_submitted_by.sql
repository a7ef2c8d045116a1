-- Whose a job is. Jobs that are there already are nobody's: only readers and operators see those.
-- text, not name: of a name each row would hold 64 bytes.
alter table bellhop.jobqueue add column submitted_by text;
-- No submitter may insert the column. Not current_user: bellhop.submit runs with the rights of the schema's owner.
alter table bellhop.jobqueue alter column submitted_by
  set default case when pg_catalog.current_setting('role') = 'none' then session_user::pg_catalog.text else pg_catalog.current_setting('role') end;
comment on column bellhop.jobqueue.submitted_by is 'the role that had been SET, or else the login; set by default only';

-- Two sessions that add dependencies to jobs that were there before must meet, and nobody else may hold them up: an
-- advisory lock is had by whoever asks for it, this one only by the owner's trigger. It has no rows.
create table bellhop.dependency_turn ();
revoke all on bellhop.dependency_turn from public;
comment on table bellhop.dependency_turn is 'a lock, and no rows: see dependencies_came()';

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_submitter') then
    -- Which job needs which is for those who may see the jobs.
    revoke select (job, needs, wanted) on bellhop.dependency from bellhop_submitter;
    -- Of one's own jobs, that is: these look whose a job is.
    grant select on bellhop.job, bellhop.attempt to bellhop_submitter;
  end if;
end
$$;
