-- why_waiting: what keeps every ready job of a type (and of a name in run_on)
-- from starting, as a code and details; NULL: nothing but its turn. Marks in
-- waiting_for and bellhop.explain both ask here, so that they never differ.
create or replace function bellhop.why_waiting(type text, run_on text default null) returns text
language plpgsql stable security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  f     record;
  agent text := type; -- whose agent does it
begin
  -- RJM's workers take RJM's jobs of every type that has no agent of its own.
  if exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = 'rjm')
     and not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = why_waiting.type)
     and exists (select from bellhop.jobqueue j join bellhop.rjm r on r.job = j.id
                  where j.type = why_waiting.type and j.state = 'ready' and not j.held) then
    agent := 'rjm';
  end if;
  if not exists (select from bellhop.instance i where i.state = 'live') then
    return 'no_instance';
  elsif exists (select from bellhop.paused p where p.type in ('', why_waiting.type)) then
    return 'paused';
  elsif not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id
                     where i.state = 'live' and a.type = agent) then
    return 'unknown_type';
  end if;
  with place as (
    select h.name,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') end as down, a.trouble ->> h.name as failing,
           exists (select from bellhop.child c
                    where c.instance = h.instance and c.host = h.name and c.type = a.type and c.state = 'READY')
           or (select count(*) from bellhop.child c where c.instance = h.instance and c.host = h.name and c.state not in ('FREE', 'FAIL')) < h.slots
              and (a.max = 0 or a.max > (select count(*) from bellhop.child c where c.type = a.type and c.state not in ('FREE', 'FAIL')))
              and (a.max_per_host = 0 or a.max_per_host > (select count(*) from bellhop.child c
                    where c.instance = h.instance and c.host = h.name and c.type = a.type and c.state not in ('FREE', 'FAIL'))) as able
      from bellhop.instance i
      join bellhop.agent a on a.instance = i.id and a.type = agent
      join bellhop.host h on h.instance = i.id
     where i.state = 'live'
       and (why_waiting.run_on is null or bellhop.answers(h.name, h.serves, why_waiting.run_on)
            or exists (select from bellhop.located l where l.instance = i.id and l.key = why_waiting.run_on and h.name = any (l.hosts)))
  )
  select count(*) as n,
         count(*) filter (where down is null) as up,
         count(*) filter (where down is null and failing is null) as well,
         count(*) filter (where down is null and failing is null and able) as able,
         string_agg(distinct name || ': ' || down, '; ') as down,
         string_agg(distinct name || ': ' || failing, '; ') as failing
    into f
    from place;
  if f.n = 0 then
    return 'no_host' || coalesce(': ' || why_waiting.run_on, '')
        || coalesce((select ' (locate: ' || min(l.error) || ')' from bellhop.located l where l.key = why_waiting.run_on), '');
  elsif f.up = 0 then
    return 'host_down: ' || f.down;
  elsif f.well = 0 then
    return 'agent_fails: ' || f.failing;
  elsif f.able = 0 then
    return 'no_room';
  end if;
  return null;
end
$$;

revoke all on function bellhop.why_waiting from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant execute on function bellhop.why_waiting to bellhop_scheduler, bellhop_reader;
  end if;
end
$$;
