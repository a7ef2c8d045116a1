-- Works from: 0051
-- Jobs that are promised by a time (../functions/promise.sql). A table of its own: jobs without a promise pay nothing.
create table bellhop.promise (
  job        bigint      primary key,
  by         timestamptz not null,   -- the job has ended by then, with success
  asked_at   timestamptz not null default clock_timestamp(),
  -- What was foretold when it was asked; NULL: nothing was.
  starts     timestamptz,
  ends       timestamptz,            -- half of the forecasts are no later
  latest     timestamptz,            -- and nine of ten
  certainty  real,                   -- the share of cases in which it is kept
  danger_at  timestamptz,            -- the forecast passes it since then
  why        text,                   -- of the danger, or of the outcome
  outcome    text        check (outcome in ('kept', 'missed', 'void')),
  decided_at timestamptz
);
comment on table bellhop.promise is 'Jobs that are promised by a time, and what became of the promises.';
comment on column bellhop.promise.outcome is 'void: the job was cancelled or deleted; NULL: it is open.';
-- The open promises.
create index promise_open on bellhop.promise (job) where outcome is null;
revoke all on bellhop.promise from public;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant select on bellhop.promise to bellhop_reader;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.promise to bellhop_operator;
  end if;
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, update, delete on bellhop.promise to bellhop_scheduler;
  end if;
end
$$;
