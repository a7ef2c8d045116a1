-- rjm_setup: a job of RJM's, held until it is released. id is type.nonce; config is text that bash evaluates just
-- before the task; the jobs named in blocks wait until this one has succeeded; files are deleted then. The same call
-- again changes nothing, whatever has become of the first. Other content under the same id is refused, and so is a
-- child that does not exist, or that is released: it might have started already. A child that waits for the running job
-- `inside` cannot have started, and may be blocked by another job. locks are held while the job runs: config has them
-- too, so that comparing config is enough.
-- Grant: submitter scheduler
create or replace function bellhop.rjm_setup(id text, config text, prio text default 'n', blocks text[] default '{}', files text[] default '{}',
                                             inside bigint default null, locks text[] default null) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  new_id   bigint;
  old      bellhop.jobqueue;
  child    bellhop.jobqueue;
  name     text;
  children bigint[] := '{}';
  had      text[];
  has      text[];
  n        integer := 1;
begin
  if rjm_setup.id !~ e'^[A-Za-z0-9_:-]+\\.[^./[:space:][:cntrl:]]+$' then
    raise invalid_parameter_value using message = format('%L is not a valid id of a job', rjm_setup.id),
      hint = 'An id is a type, a dot and a nonce, such as billing.simpsons-42; the nonce has no dot, blank or slash.';
  elsif split_part(rjm_setup.id, '.', 1) in ('command', 'rjm') then
    raise invalid_parameter_value using message = format('the type %L is bellhop''s own', split_part(rjm_setup.id, '.', 1)), hint = 'Choose another type.';
  elsif rjm_setup.id = any (blocks) then
    raise check_violation using message = format('%s cannot wait for itself', rjm_setup.id), hint = 'Leave it out of rjm_blocks.';
  elsif octet_length(config) > 100000 then
    raise invalid_parameter_value using message = format('the configuration is too long: %s bytes, at most 100000', octet_length(config)),
      hint = 'Put what is long into a file, and name that.';
  elsif files <> '{}' and rjm_setup.id like 'dummy.%' then
    raise invalid_parameter_value using message = 'a dummy runs on no host, so there is none that could delete files', hint = 'Let a job that runs delete them.';
  end if;
  select * into old from bellhop.jobqueue j where j.key = rjm_setup.id collate "default";
  if old.id is not null and not (bellhop.owns(old.submitted_by) or bellhop.is_operator()) then
    raise unique_violation using message = format('%s is set up already, by others', rjm_setup.id), hint = 'Choose another nonce.';
  elsif old.id is not null then
    had := string_to_array(old.vars ->> 'RJM_CONFIG', e'\n');
    has := string_to_array(config, e'\n');
    if had is null then
      raise unique_violation using message = format('%s is job %s, which rjmsetup has not made', rjm_setup.id, old.id), hint = 'Choose another nonce.';
    elsif old.priority_name is distinct from prio collate "default" then
      raise unique_violation using message = format('%s is set up already with another priority: %s, not %s', rjm_setup.id, coalesce(old.priority_name, 'none'), prio),
        hint = 'What is set up does not change. Choose another nonce.';
    elsif had is distinct from has collate "default" then
      while had[n] is not distinct from has[n] collate "default" loop
        n := n + 1;
      end loop;
      raise unique_violation using message = format('%s is set up already with another configuration: line %s is "%s", not "%s"', rjm_setup.id, n, had[n], has[n]),
        hint = 'What is set up does not change. Choose another nonce.';
    end if;
    return old.id;
  end if;

  new_id := bellhop.submit(split_part(rjm_setup.id, '.', 1), key => rjm_setup.id, priority_name => prio, held => true, on_failure => 'block', locks => rjm_setup.locks,
                           vars => jsonb_build_object('RJM_CONFIG', config));
  insert into bellhop.rjm (job, files, state)
  values (new_id, files, case when files = '{}' then 'old' else 'done' end)
  on conflict do nothing;
  for name in select distinct unnest(blocks) order by 1 loop
    -- The lock: no transaction releases the child between this look and the commit.
    -- Jobs of other submitters are neither looked at nor locked.
    select * into child from bellhop.jobqueue j where j.key = name collate "default" and bellhop.may_change(j.submitted_by) for update;
    if child.id is null then
      raise foreign_key_violation using message = format('%s, which %s is to block, is not set up', name, rjm_setup.id),
        hint = 'Children first: set up what waits before what it waits for.';
    elsif exists (select from bellhop.dependency d where d.job = child.id and d.needs = new_id) then
      null; -- two calls set up the same at once, and the other one was first
    elsif child.state = 'held'
       or child.state = 'blocked' and exists (select from bellhop.dependency d join bellhop.jobqueue r on r.id = d.needs
                                               where d.job = child.id and d.needs = rjm_setup.inside and not d.met and r.state in ('running', 'assigned')) then
      children := children || child.id;
    else
      raise object_not_in_prerequisite_state using message = format('%s, which %s is to block, is released already: it is %s', name, rjm_setup.id, child.state),
        hint = 'Only jobs that are not released can be blocked: it might have started. Set up everything before rjmgo.';
    end if;
  end loop;
  insert into bellhop.dependency (job, needs) select c, new_id from unnest(children) c;
  return new_id;
end
$$;
