-- explain_workflow: what starts a workflow, and what keeps it from starting, in the form of bellhop.explanation. The
-- words are in bellhop.causes. No row: there is no such workflow, or the caller may not look. Indexes: the primary keys
-- of workflow and sensor; run_open, run_of, event_open.
-- Grant: reader
create or replace function bellhop.explain_workflow(name text) returns table (code text, sentence text, next text)
language plpgsql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' -- of times in sentences
as $$
#variable_conflict use_column
declare
  w bellhop.workflow;
  s bellhop.sensor;
  r record;
  queues boolean; -- events that fill a parameter wait, all of them
  about jsonb := jsonb_build_object('name', explain_workflow.name);
begin
  select * into w from bellhop.workflow x where x.name = explain_workflow.name and bellhop.is_reader();
  if not found then
    return;
  end if;
  select * into s from bellhop.sensor x where x.workflow = w.name;
  queues := bellhop.sensor_queue(w.definition, case when s.kind is distinct from 'workflow' and w.definition -> 'parameters' <> '{}' then '{"x": ""}' else '{}' end::jsonb) = 'all';
  about := about || jsonb_build_object('kind', s.kind, 'problem', s.problem, 'since', bellhop.since(s.since));
  if not w.active then
    return query select * from bellhop.reason('inactive', about);
  elsif s.workflow is null then
    return query select * from bellhop.reason('no_sensor', about);
  else
    if not exists (select from bellhop.instance i where i.state = 'live') then
      return query select * from bellhop.reason('nobody_starts', about);
    elsif not exists (select from bellhop.instance i where i.state = 'live' and bellhop.starts_workflows(i.id)) then
      return query select * from bellhop.reason('nobody_starts/stopped', about || (
        select jsonb_build_object('by', string_agg(distinct m.by, ', '), 'since', bellhop.since(min(m.at))) from bellhop.manager_stop m));
    elsif bellhop.able(w.definition -> 'sensor') = '{}' then
      return query select * from bellhop.reason('nobody_starts/unseen', about);
    end if;
    if s.problem is not null then
      return query select * from bellhop.reason('sensor_fails', about);
    end if;
    for r in select p.remark, p.remarked_at from bellhop.sensor_place p
              where p.workflow = w.name and p.remark is not null and p.remarked_at > clock_timestamp() - interval '7 d' loop
      return query select * from bellhop.reason('sensor_remark', about || jsonb_build_object('remark', r.remark,
        'at', bellhop.clock(r.remarked_at)));
    end loop;
    if s.next_fire > '-infinity' and s.next_fire < 'infinity' then
      return query select * from bellhop.reason('next_slot', about || jsonb_build_object('at', bellhop.clock(s.next_fire),
        'in', bellhop.lasting(s.next_fire - clock_timestamp())));
    elsif s.kind not in ('cron', 'every') then
      return query select * from bellhop.reason('awaits_event/sensor', about || jsonb_build_object('last', (
        select format(' The last one came at %s.', bellhop.clock(max(e.at))) from bellhop.event e
         where e.workflow = w.name having max(e.at) is not null)));
    end if;
  end if;
  return query select u.* from bellhop.unserved(w.definition) u;
  select count(*) as n, min(e.at) as first into r from bellhop.event e where e.workflow = w.name and e.run is null;
  if r.n > 0 then
    return query select * from bellhop.reason('event_waits', about || jsonb_build_object('n', r.n, 'since', bellhop.since(r.first)));
  end if;
  for r in select x.id, x.state, x.reason, coalesce(x.started_at, x.created_at) as since from bellhop.run x
            where x.workflow = w.name and x.state in ('queued', 'running') order by x.id limit 3
  loop
    return query select * from bellhop.reason(case when r.state = 'queued' and r.reason is not null then 'run_open/inactive'
                                                   when queues then 'run_open/all' else 'run_open' end,
      about || jsonb_build_object('run', r.id, 'state', r.state, 'since', bellhop.since(r.since), 'room', bellhop.sensor_room(w.definition, '{"x": ""}'),
        'n', (select count(*) from bellhop.run x where x.workflow = w.name and x.state = 'queued')));
  end loop;
  -- Counts the last runs only: for thousands there is the list.
  select count(*) as n, min(v.event) as event into r
    from (select x.id, x.event, x.state, x.last from bellhop.run x where x.workflow = w.name order by x.id desc limit 10000) x
    join bellhop.event v on v.workflow = w.name and v.event = x.event and v.run = x.id
   where x.state = 'skipped' and x.last is null;
  if r.n > 0 and s.kind not in ('cron', 'every') then
    return query select * from bellhop.reason('events_skipped', about || jsonb_build_object('n', r.n, 'were', case r.n when 1 then ' was' else 's were' end));
  end if;
  for r in select x.id, x.state, x.reason, x.event from bellhop.run x where x.workflow = w.name order by x.id desc limit 1
  loop
    if r.state in ('skipped', 'failed') then
      return query select * from bellhop.reason('run_' || r.state, about || jsonb_build_object('run', r.id, 'of', ' of ' || r.event,
        'reason', coalesce(r.reason, 'no reason was given')));
    end if;
  end loop;
end
$$;
