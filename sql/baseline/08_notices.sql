-- Notices: how runs of workflows have ended, for the receivers that rules and definitions name.

create table bellhop.notice_rule (
  id                    bigint      generated always as identity primary key,
  project               text        not null default '', -- in any case of letters; empty: any
  prefix                text        not null default '', -- of the workflow's name; the same
  statuses              text[]      not null default '{failed}'
                        check (statuses <> '{}' and statuses <@ '{succeeded,failed,skipped}'),
  unless_success_within interval    check (unless_success_within > '0'), -- not if another run has succeeded so shortly before
  mail                  text[]      not null default '{}',
  webhook               text,
  command               text[]      not null default '{}',
  changed_at            timestamptz not null default clock_timestamp(),
  changed_by            text        not null,
  active                boolean     not null default true,
  version               integer     not null default 1, -- so that two changes of one rule see each other
  check (mail <> '{}' or webhook <> '' or command <> '{}')
);
comment on table bellhop.notice_rule is 'Who is told how runs end, besides those whom definitions name; bellhop.notice_rule_add and _delete change it.';

-- Ends of runs whose notices are not worked out yet. The end of a run writes a row, by a statement that cannot fail.
create table bellhop.run_end (
  id       bigint      generated always as identity primary key,
  run      bigint      not null,
  workflow text        not null,
  state    text        not null,
  reason   text,
  at       timestamptz not null default clock_timestamp()
);

create table bellhop.notice (
  id           bigint      generated always as identity primary key,
  message      uuid        not null default gen_random_uuid(), -- the same however often it is sent
  run          bigint      not null,
  workflow     text        not null,
  project      text        not null,
  state        text        not null, -- of the run
  reason       text,
  ended_at     timestamptz not null, -- of the run
  last_success timestamptz,
  channel      text        not null check (channel in ('mail', 'webhook', 'command')),
  target       text        not null,
  needs        text        not null, -- one of bellhop.instance.tells
  status       text        not null default 'waiting' check (status in ('waiting', 'sent', 'given_up')),
  tries        integer     not null default 0,
  at           timestamptz not null default clock_timestamp(),
  next_at      timestamptz not null default clock_timestamp(),
  until        timestamptz not null, -- then it is given up
  instance     bigint,               -- the instance that is sending it
  sent_at      timestamptz,          -- or given up
  error        text                  -- of the last try
);
comment on table bellhop.notice is 'Messages of how runs have ended: what is to be sent, and what became of it.';
create index notice_open on bellhop.notice (next_at) where status = 'waiting';
create index notice_until on bellhop.notice (until) where status = 'waiting';
create index notice_run on bellhop.notice (run);
