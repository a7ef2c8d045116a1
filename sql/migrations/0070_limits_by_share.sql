-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.jobqueue, for a moment.
-- A filter limits the jobs of each share (../functions/filters.sql). An older binary takes such a rule for PAUSE.
create or replace view bellhop.lockable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq, j.created_at, j.locks, j.reasons, coalesce(j.behind, '') as behind,
         j.args, j.key, j.vars, j.submitted_by, j.share
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));

-- It takes the share now.
drop function if exists bellhop.filter_place(text, text, jsonb);

-- A step that takes results of other steps: its args, its vars and the values of parameters, from which they are made
-- when it is ready (../functions/step_results.sql). NULL: it takes none.
alter table bellhop.jobqueue add column template jsonb;
