-- Runs that were lost with their host or instance and given back: no attempts, so they are in none of the attempts' records.
create table bellhop.lost_run (
  job        bigint      not null,
  n          integer     not null, -- the how manieth of its job; the newest 20 are kept
  attempt    integer     not null, -- that it would have been
  fence      bigint      not null,
  host       text,
  child      text,
  instance   bigint,
  spawned_at timestamptz,
  started_at timestamptz,
  lost_at    timestamptz not null default clock_timestamp(),
  reason     text        not null, -- never an agent's words
  primary key (job, n)
);
revoke all on bellhop.lost_run from public;
-- How many runs of it were lost.
alter table bellhop.jobqueue add column lost integer not null default 0;

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant select on bellhop.lost_run to bellhop_operator;
    grant select, insert, update, delete on bellhop.lost_run to bellhop_scheduler;
  end if;
end
$$;
