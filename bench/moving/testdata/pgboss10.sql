-- What docs/moving/pgboss.sql reads of pg-boss 10: names and types of columns, and the rules that refuse rows.
create schema pgboss;
create type pgboss.job_state as enum ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
create table pgboss.queue (name text primary key, policy text);
create function pgboss.create_queue(name text, options jsonb) returns void language sql
  as $$ insert into pgboss.queue values (create_queue.name, create_queue.options ->> 'policy') $$;
create table pgboss.schedule (name text primary key references pgboss.queue, cron text not null);
create table pgboss.job (
  id            uuid not null default gen_random_uuid(),
  name          text not null,
  priority      integer not null default 0, -- the highest runs first
  data          jsonb,
  state         pgboss.job_state not null default 'created',
  retry_limit   integer not null default 2,
  retry_count   integer not null default 0,
  retry_delay   integer not null default 0,
  retry_backoff boolean not null default false,
  start_after   timestamptz not null default now(),
  started_on    timestamptz,
  singleton_key text,
  singleton_on  timestamp,
  expire_in     interval not null default '15 minutes',
  created_on    timestamptz not null default now(),
  completed_on  timestamptz,
  keep_until    timestamptz not null default now() + interval '14 days',
  output        jsonb,
  dead_letter   text,
  policy        text,
  primary key (name, id)
) partition by list (name);
create table pgboss.some_queue partition of pgboss.job for values in ('report');
create table pgboss.other_queues partition of pgboss.job default;
create unique index on pgboss.job (name, coalesce(singleton_key, ''), state) where policy = 'stately' and state in ('created', 'retry', 'active');
