-- A step that takes results of other steps (sql/functions/step_results.sql) is ready: they are known now. A step whose
-- results are missing fails. The WHEN keeps the function away from all other rows, and from runs of the job that are
-- given back.
-- Grant: none
create or replace function bellhop.results_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  f record;
begin
  if exists (select from bellhop.dependency d where d.job = new.id and not d.met) then
    return null; -- it is tried again, and is about to wait for what it needs
  end if;
  f := bellhop.fill_results(new);
  if f.fault is null then
    update bellhop.jobqueue j set args = f.args, vars = f.vars where j.id = new.id;
    return null;
  end if;
  update bellhop.jobqueue j set state = 'failed', error = 'step_result: ' || f.fault, ended_at = clock_timestamp(), waiting_for = null where j.id = new.id;
  perform bellhop.ended(array[new.id]);
  perform pg_notify('bellhop_over', new.id::text);
  return null;
end
$$;

create or replace trigger _020_results
  after update of state on bellhop.jobqueue
  for each row when (new.template is not null and new.state = 'ready' and old.state not in ('ready', 'assigned', 'running'))
  execute function bellhop.results_came();
