-- Runs of a deactivated workflow: open runs go on, queued ones wait until the workflow is active again. Such a run has
-- a reason while it is queued, and no other run has: that identifies it. Its gate is held. The caller of these two
-- functions has locked the workflow's row, so that no run comes in between. Rows are locked in the order of outcomes:
-- jobs before their runs.

-- runs_wait: a workflow is not active any more. Index: run_open.
-- Grant: scheduler
create or replace function bellhop.runs_wait(called text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  waiting bigint[];
begin
  with locked as materialized ( -- a gate that passes just now is not among them: its run has begun
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select r.gate from bellhop.run r where r.workflow = called and r.state = 'queued'))
       and j.state in ('held', 'blocked', 'scheduled', 'ready')
     order by j.id for no key update
  ), held as (
    update bellhop.jobqueue j set held = true, state = 'held', waiting_for = null from locked l where j.id = l.id returning j.run
  )
  select array_agg(h.run) into waiting from held h;
  update bellhop.run r set reason = 'its workflow is not active' where r.id = any (waiting) and r.state = 'queued';
end
$$;

-- runs_go_on: the workflow is active again. A run by hand may have begun since: these wait for that, too. Index:
-- run_open.
-- Grant: scheduler
create or replace function bellhop.runs_go_on(called text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  waiting bigint[] := array(select r.id from bellhop.run r where r.workflow = called and r.state = 'queued' and r.reason is not null order by r.id);
  gates   bigint[] := array(select r.gate from bellhop.run r where r.id = any (waiting));
  newest  bigint[]; -- the last job of the newest run, and its gate if it is queued
begin
  if waiting = '{}' then
    return;
  end if;
  select array_remove(array[r.last, case when r.state = 'queued' then r.gate end], null) into newest from bellhop.run r
   where r.workflow = called and r.state in ('queued', 'running') and r.id <> all (waiting) order by r.state = 'queued' desc, r.id desc limit 1;
  if newest <> '{}' then -- before rows are locked: adding a need to an existing job takes a turn first
    insert into bellhop.dependency (job, needs, wanted)
    select j.id, n, '{succeeded,failed,cancelled,quarantined}' from bellhop.jobqueue j cross join unnest(newest) n where j.id = any (gates) and j.state = 'held'
    on conflict do nothing;
  end if;
  perform from bellhop.jobqueue j where j.id = any (gates) order by j.id for no key update;
  update bellhop.jobqueue j set held = false, state = case when j.unmet is not null then 'blocked' else 'ready' end
   where j.id = any (gates) and j.state = 'held';
  update bellhop.run r set reason = null where r.id = any (waiting) and r.state = 'queued';
  perform bellhop.ended(w.failed) from bellhop.resolve(gates, false) w; -- the jobs that they needed may be over since
  perform bellhop.pass_dummies();
end
$$;
