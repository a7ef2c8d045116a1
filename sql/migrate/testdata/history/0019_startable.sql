-- The one answer to "may it start?", whatever the triggers did: what claims take, what is counted as waiting, and what others
-- must not undercut. The planner sees through it: `run_on is null`, or `run_on = …`, beside it makes jobqueue_ready, or
-- jobqueue_pinned, fit; FOR UPDATE reaches the queue's row. Which host may take it is no part of the answer, nor is what has paused.
create view bellhop.startable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     -- Asked once a statement, of an index that is normally empty: jobs without dependencies pay nothing.
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
comment on view bellhop.startable is 'Jobs that may start now, as far as they themselves can tell.';

do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, update on bellhop.startable to bellhop_scheduler; -- UPDATE is what FOR UPDATE asks for
  end if;
end
$$;
