-- manager: stops or starts the scheduling of workflows: for the instances of a name, or for all ('') and those that
-- come later. Open runs go on, runs by hand start, and events are kept in the meantime; slots that pass are missed
-- (catch_up). Returns how many live instances start workflows now.
-- Grant: operator scheduler
create or replace function bellhop.manager(what text, name text default '') returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  called text := coalesce((select i.name from bellhop.instance i where i.state = 'live' and i.id::text = manager.name), manager.name, '');
begin
  perform bellhop.refuse_but_operators('stop and start the scheduling of workflows');
  if what not in ('stop', 'start') then
    raise invalid_parameter_value using message = format('the manager cannot %s', what), hint = 'stop or start';
  elsif what = 'stop' then
    if called <> '' and not exists (select from bellhop.instance i where i.name = called and i.state = 'live') then
      raise undefined_object using message = format('there is no instance %s', called), hint = 'bellhop instances';
    end if;
    insert into bellhop.manager_stop (name, by) values (called, bellhop.actor()) on conflict do nothing;
  elsif called = '' then
    delete from bellhop.manager_stop;
  elsif exists (select from bellhop.manager_stop m where m.name = '') then
    raise object_not_in_prerequisite_state using message = 'all instances are stopped, and not this one alone',
      hint = 'bellhop manager start   starts them all.';
  else
    delete from bellhop.manager_stop m where m.name = called;
    -- An instance that is gone may have been stopped, and stays stopped when it comes back: the stop keeps its name
    -- known.
    if not found and not exists (select from bellhop.instance i where i.name = called and i.state = 'live') then
      raise undefined_object using message = format('there is no instance %s', called), hint = 'bellhop instances';
    end if;
  end if;
  perform bellhop.changed('manager ' || what, 'instance', nullif(called, ''), null);
  perform pg_notify('bellhop_due', '');
  return (select count(*) from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id));
end
$$;
