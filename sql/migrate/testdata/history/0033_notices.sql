-- Who is told how runs of workflows have ended, and what is still to be sent.
-- Locks: none on the queue. ACCESS EXCLUSIVE on definitions, which are few, while they get a column; SHARE on runs while an
-- index of them is built.

alter table bellhop.workflow add column notifies boolean not null generated always as (definition ? 'notify') stored;
create index run_success on bellhop.run (workflow, ended_at) where state = 'succeeded';

-- What an instance can send: mail, webhook, command:NAME, command:* (any that the database names). One of the version before: nothing.
alter table bellhop.instance add column tells text[] not null default '{}';

create table bellhop.notice_rule (
  id                    bigint      generated always as identity primary key,
  project               text        not null default '', -- whatever its case; empty: any
  prefix                text        not null default '', -- of the workflow's name; the same
  statuses              text[]      not null default '{failed}'
                        check (statuses <> '{}' and statuses <@ '{succeeded,failed,skipped}'),
  unless_success_within interval    check (unless_success_within > '0'), -- not where another run has succeeded so shortly before
  mail                  text[]      not null default '{}',
  webhook               text,
  command               text[]      not null default '{}',
  changed_at            timestamptz not null default clock_timestamp(),
  changed_by            text        not null,
  check (mail <> '{}' or webhook <> '' or command <> '{}')
);
comment on table bellhop.notice_rule is 'Who is told how runs end, besides those whom definitions name; bellhop.notice_rule_add and _delete change it.';

-- run_end: ends of runs of which nobody has worked out yet who is to be told. Written by what ends the run, and by nothing that could fail.
create table bellhop.run_end (
  id       bigint      generated always as identity primary key,
  run      bigint      not null,
  workflow text        not null,
  state    text        not null,
  reason   text,
  at       timestamptz not null default clock_timestamp()
);

create table bellhop.notice (
  id         bigint      generated always as identity primary key,
  message    uuid        not null default gen_random_uuid(), -- the same however often it is sent
  run        bigint      not null,
  workflow   text        not null,
  project    text        not null,
  state      text        not null, -- of the run
  reason     text,
  ended_at   timestamptz not null, -- the run
  last_success timestamptz,
  channel    text        not null check (channel in ('mail', 'webhook', 'command')),
  target     text        not null,
  needs      text        not null, -- one of bellhop.instance.tells
  status     text        not null default 'waiting' check (status in ('waiting', 'sent', 'given_up')),
  tries      integer     not null default 0,
  at         timestamptz not null default clock_timestamp(),
  next_at    timestamptz not null default clock_timestamp(),
  until      timestamptz not null, -- then it is given up
  instance   bigint,               -- who is sending it
  sent_at    timestamptz,          -- or given up
  error      text                  -- of the last try
);
comment on table bellhop.notice is 'Messages of how runs have ended: what is to be sent, and what became of it.';
create index notice_open on bellhop.notice (next_at) where status = 'waiting';
create index notice_until on bellhop.notice (until) where status = 'waiting';
create index notice_run on bellhop.notice (run);

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.notice_rule, bellhop.run_end, bellhop.notice to bellhop_scheduler;
    grant select on bellhop.notice_rule, bellhop.run_end, bellhop.notice to bellhop_operator;
    -- Nobody's address to who only looks, nor what an agent has said.
    grant select (id, message, run, workflow, project, state, ended_at, channel, status, tries, at, next_at, until, instance, sent_at)
      on bellhop.notice to bellhop_reader;
  end if;
end
$$;
