-- RJM's jobs: what is special about them is the files that go when one has succeeded.

create table bellhop.rjm (
  job     bigint primary key,
  files   text[] not null default '{}', -- as the set-up names them: relative to rjm_wd of the host that ran the job
  -- What becomes of the job once it has succeeded: done (they are there still), dusting (they are being deleted), old.
  state   text   not null check (state in ('done', 'dusting', 'old')),
  trouble text -- why they could not be deleted
);
-- Whose files are still to be deleted.
create index rjm_dusty on bellhop.rjm (job) where state <> 'old';

comment on table bellhop.rjm is 'Jobs that rjmsetup made, and the files to delete when one has succeeded.';

-- prune is in sql/functions from now on: it spares jobs whose files are not deleted yet.
drop function bellhop.prune;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_submitter') then
    grant select on bellhop.rjm to bellhop_reader;
    grant select, insert, update, delete on bellhop.rjm to bellhop_scheduler;
  end if;
end
$$;
