-- What has not begun by its not_after is not started, however soon it is that somebody comes to cancel it.
-- Locks: ACCESS EXCLUSIVE on two views, for a moment.
create or replace view bellhop.startable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     -- Asked once a statement, of an index that is normally empty: jobs without dependencies pay nothing.
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));

create or replace view bellhop.lockable as
  select j.id, j.type, j.run_on, j.priority, j.priority_name, j.msq, j.created_at, j.locks, j.reasons, coalesce(j.behind, '') as behind,
         j.args, j.key, j.vars, j.submitted_by
    from bellhop.jobqueue j
   where j.state = 'ready' and not j.held and j.unmet is null and j.locks is not null
     and (j.run_at is null or j.run_at <= clock_timestamp())
     and (j.not_after is null or j.not_after > clock_timestamp())
     and (not exists (select from bellhop.dependency where not counted)
       or not exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
