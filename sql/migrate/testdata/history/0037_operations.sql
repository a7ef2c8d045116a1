-- Orders for many jobs: planned for a filter, carried out in batches by whichever instance lives, stoppable, kept, and some of them undone.
-- functions/operations.sql has the rest. Locks here: none on a table that is used.
create table bellhop.operation (
  id         bigint generated always as identity primary key,
  verb       text not null check (verb in ('cancel', 'kill', 'retry', 'release', 'hold', 'priority')),
  filter     jsonb not null,
  priority   smallint check (priority between -20 and 19), -- of the verb priority
  state      text not null default 'planned' check (state in ('planned', 'running', 'stopping', 'stopped', 'done', 'undone')),
  plan       pg_snapshot not null,  -- only what it shows is touched: nothing that came later
  planned    bigint not null,       -- for so many jobs
  by_state   jsonb not null,        -- how many jobs the filter lets through, by their states
  skipped    jsonb not null,        -- and how many of those the verb does not change
  samples    jsonb not null,
  planned_by text not null,         -- under whose role it is carried out
  planned_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  not_before timestamptz,           -- what cannot be undone begins a little later
  ended_at   timestamptz,
  worked_at  timestamptz,
  past       bigint not null default 0,     -- ids up to this one have been looked at
  later      bigint[] not null default '{}', -- others had them: again when the rest is done
  tries      integer not null default 0,
  done       bigint not null default 0,
  refused    bigint not null default 0,     -- so many could not be changed
  undone     bigint not null default 0,
  error      text                           -- why the last of those could not
);
create index operation_open on bellhop.operation (id) where state in ('running', 'stopping');

-- What jobs were before an operation that can be undone.
create table bellhop.operation_job (
  operation     bigint not null references bellhop.operation on delete cascade,
  job           bigint not null,
  state         text not null,
  held          boolean not null,
  priority      smallint not null,
  priority_name text,
  ended_at      timestamptz, -- that it got by this operation
  primary key (operation, job)
);

revoke all on bellhop.operation, bellhop.operation_job from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.operation to bellhop_reader;
    grant select, insert, update, delete on bellhop.operation, bellhop.operation_job to bellhop_scheduler;
    grant usage on sequence bellhop.operation_id_seq to bellhop_scheduler;
  end if;
end
$$;
