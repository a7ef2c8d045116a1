-- Job filters: rules that say which jobs are refused, wait, or run only so many at once.
-- Locks here: none on the queue but ACCESS EXCLUSIVE on a view of it, for a moment.

-- filter: the rules, asked in the order (priority, watermark, id). predicates: a list of ["jobid", E], ["opcode", E] and
-- ["reason", E], which must all hold. watermark: the highest job when the rule was added or replaced. docs/locks.md tells the whole.
create table bellhop.filter (
  id         text        primary key default gen_random_uuid()::text check (id ~ '^[A-Za-z0-9._-]{1,100}$'),
  priority   integer     not null default 0 check (priority >= 0),
  watermark  bigint      not null,
  predicates jsonb       not null default '[]' check (jsonb_typeof(predicates) = 'array'),
  action     text        not null,
  reason     text        not null default '',
  created_at timestamptz not null default clock_timestamp(),
  created_by text        not null
);
comment on table bellhop.filter is 'Job filters; bellhop.filter_add, filter_replace and filter_delete change them.';

-- Filters ask who submitted a job.
create or replace view bellhop.lockable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq, j.created_at, j.locks, j.reasons, coalesce(j.behind, '') as behind,
         j.args, j.key, j.vars, j.submitted_by
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select on bellhop.filter to bellhop_reader, bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
