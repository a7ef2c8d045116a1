-- Jobs that run on an engine (mode: engine): one row for each tag, which is one for each attempt. It is there before
-- submit is called, so that whoever comes after a crash asks for it, and does not submit again.
create table bellhop.engine_job (
  tag        text        primary key, -- bellhop-JOB-FENCE, of the claim that submitted it
  job        bigint      not null,
  fence      bigint      not null,
  attempt    integer     not null,
  type       text        not null,
  engine     text        not null,
  instance   bigint,               -- who has last written here
  state      text        not null check (state in ('submitting', 'running', 'ended', 'killing', 'over')),
  engine_id  text,                 -- the engine's own name of it
  stage      text,                 -- what the engine last said
  how        text,                 -- how it ended
  exit_code  integer,
  reason     text,                 -- never the engine's words
  said       text,                 -- these are
  sent_at    timestamptz not null default clock_timestamp(),
  ran_at     timestamptz,
  ended_at   timestamptz,
  changed_at timestamptz not null default clock_timestamp()
);
comment on table bellhop.engine_job is 'What runs, or ran, on engines: a row for each tag. Seen through bellhop.remote.';
create index engine_job_of on bellhop.engine_job (job);
create unique index engine_job_one on bellhop.engine_job (job) where state in ('submitting', 'running', 'ended');
create index engine_job_open on bellhop.engine_job (type, tag) where state in ('submitting', 'running', 'ended', 'killing');
revoke all on bellhop.engine_job from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.engine_job to bellhop_scheduler;
  end if;
end
$$;
