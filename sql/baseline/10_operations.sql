-- Orders for many jobs: planned for a filter, carried out in batches by any instance that lives, stoppable, kept, and
-- some of them undone (../functions/operations.sql).

create table bellhop.operation (
  id         bigint      generated always as identity primary key,
  verb       text        not null check (verb in ('cancel', 'kill', 'retry', 'release', 'hold', 'priority')),
  filter     jsonb       not null,
  priority   smallint    check (priority between -20 and 19), -- of the verb priority
  state      text        not null default 'planned' check (state in ('planned', 'running', 'stopping', 'stopped', 'done', 'undone')),
  plan       pg_snapshot not null,  -- only jobs that it shows are touched: none that came later
  planned    bigint      not null,  -- number of jobs
  by_state   jsonb       not null,  -- jobs that the filter lets through, by their states
  skipped    jsonb       not null,  -- and those of them that the verb does not change
  samples    jsonb       not null,
  planned_by text        not null,  -- it is carried out under this role
  planned_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  not_before timestamptz,           -- an order that cannot be undone begins a little later
  ended_at   timestamptz,
  worked_at  timestamptz,
  past       bigint      not null default 0,    -- ids up to this one have been looked at
  later      bigint[]    not null default '{}', -- other sessions had locked these: again when the rest is done
  tries      integer     not null default 0,
  done       bigint      not null default 0,
  refused    bigint      not null default 0,    -- jobs that could not be changed
  undone     bigint      not null default 0,
  error      text,                              -- of the last refused one
  dependents jsonb       not null default '{}', -- jobs that need those of the plan, by what becomes of them
  actor      text        -- a token's name, or a login: of planned_by, a role, there may be several; NULL: it was not kept yet
);
create index operation_open on bellhop.operation (id) where state in ('running', 'stopping');

-- The jobs of an operation, as its plan has counted them: a filter may let through others when it is carried out.
create table bellhop.operation_part (
  operation bigint   not null references bellhop.operation on delete cascade,
  last      bigint   not null, -- the largest of ids
  ids       bigint[] not null, -- up to a thousand, ascending
  primary key (operation, last)
);

-- What jobs were before an operation that can be undone.
create table bellhop.operation_job (
  operation     bigint      not null references bellhop.operation on delete cascade,
  job           bigint      not null,
  state         text        not null,
  held          boolean     not null,
  priority      smallint    not null,
  priority_name text,
  ended_at      timestamptz, -- written by this operation
  primary key (operation, job)
);
