-- Jobs that expire instead of starting late. Their times stand in a table of their own: those without pay nothing, and no index of
-- the queue has another column. Locks: ACCESS EXCLUSIVE on the queue for a moment; no row is read.
alter table bellhop.jobqueue add column not_after timestamptz;
comment on column bellhop.jobqueue.not_after is 'when it has not begun by then, it is cancelled: expired';

create table bellhop.deadline (
  job bigint      primary key,
  at  timestamptz not null -- when somebody has to look at the job
);
create index deadline_at on bellhop.deadline (at);
revoke all on bellhop.deadline from public;

-- bellhop.submit has one argument more (sql/functions/submit.sql).
drop function if exists bellhop.submit;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant insert (not_after) on bellhop.jobqueue to bellhop_submitter;
    grant select on bellhop.deadline to bellhop_operator;
    grant select, insert, update, delete on bellhop.deadline to bellhop_scheduler;
  end if;
end
$$;
