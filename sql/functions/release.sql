-- release: a held job may run, also one whose state does not say held (it came with triggers disabled). So may all jobs
-- that need it, directly or through others; they wait for the jobs that they need. Its submitter may call this, and
-- operators; of the jobs that need it, a submitter frees its own. Returns the state that the job has now.
-- Grant: submitter operator scheduler
create or replace function bellhop.release(id bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  c record;
begin
  c := bellhop.release_job(release.id);
  perform bellhop.changed_job('release', release.id, c.was, c.now_is);
  return c.now_is;
end
$$;

-- release_job: what release does, for functions that record their change as a whole. was: the state before.
-- Grant: scheduler
create or replace function bellhop.release_job(id bigint, out was text, out now_is text)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  freed  bigint[];
  needy  bigint[];
begin
  if not bellhop.refuse_others(release_job.id, 'release') then
    return;
  end if;
  select j.state into was from bellhop.jobqueue j where j.id = release_job.id;
  with recursive way (id) as (
    select release_job.id
    union
    select d.job from way w join bellhop.dependency d on d.needs = w.id
     -- Without the next run of a workflow, which waits for this run's end and not for a result.
     where not exists (select from bellhop.jobqueue g join bellhop.run r on r.id = g.run and r.gate = g.id where g.id = d.job)
  ), locked as materialized (
    select j.id from bellhop.jobqueue j join way w on w.id = j.id where (j.state = 'held' or j.held and j.state in ('blocked', 'scheduled', 'ready')) and bellhop.may_change(j.submitted_by)
       -- A run that waits until its workflow is active again (bellhop.runs_wait) does not begin by this.
       and not exists (select from bellhop.run r where r.id = j.run and r.gate = j.id and r.state = 'queued' and r.reason is not null)
     order by j.id for no key update of j
  ), moved as (
    update bellhop.jobqueue j
       set held = false,
           state = case when j.unmet is not null then 'blocked' when j.run_at > clock_timestamp() then 'scheduled' else 'ready' end
     where j.id in (select l.id from locked l) and j.state in ('held', 'blocked', 'scheduled', 'ready')
    returning j.id, j.unmet
  )
  select array_agg(m.id), array_agg(m.id order by m.id) filter (where m.unmet is not null) into freed, needy from moved m;
  if needy is not null then
    perform bellhop.ended(w.failed) from bellhop.resolve(needy, false) w; -- some may have failed while they were held
  end if;
  if freed is not null then
    perform bellhop.kick();
    perform pg_notify('bellhop_due', '');
  end if;
  select j.state into now_is from bellhop.jobqueue j where j.id = release_job.id;
end
$$;
