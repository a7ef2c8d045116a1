-- read_only: why this server takes no writes, as a cause: no instance on this server starts or ends anything. It
-- ignores a login's or a session's own setting. A standby that its primary feeds has a cause of its own. NULL: it takes
-- writes.
-- Grant: reader scheduler
create or replace function bellhop.read_only() returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select case when pg_is_in_recovery() then
                case when exists (select from pg_stat_wal_receiver w where w.pid is not null)
                      and exists (select from bellhop.instance i where i.state = 'live' and i.heartbeat_at > clock_timestamp() - i.lag / 2)
                     then 'read_only/fed' else 'read_only/standby' end
              when coalesce(
                (select substr(c.setting, 31)::boolean from pg_db_role_setting s cross join unnest(s.setconfig) c (setting)
                  where s.setrole = 0 and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
                    and starts_with(c.setting, 'default_transaction_read_only=') order by s.setdatabase desc limit 1),
                (select s.setting = 'on' from pg_settings s where s.name = 'default_transaction_read_only' and s.source in ('configuration file', 'command line')))
                then 'read_only' end
$$;

-- hindrance: what keeps every ready job of a type, with a name in run_on and a priority, from starting: a cause of
-- bellhop.causes, the values for its sentence, and the details behind the code in waiting_for. No cause: the jobs only
-- wait for their turn. Marks in waiting_for and bellhop.explanation both ask here, so that they never differ; and it
-- decides by what instances publish. priority NULL: it ignores which priorities hosts take.
-- Grant: reader scheduler
create or replace function bellhop.hindrance(type text, run_on text default null, priority integer default null, priority_name text default null,
  msq boolean default false, out cause text, out args jsonb, out detail text)
language plpgsql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  f     record;
  agent text := type; -- the type whose agent runs it
  there text;
begin
  if not exists (select from bellhop.instance i where i.state = 'live') then
    cause := 'no_instance';
    args := jsonb_build_object('since', (select bellhop.since(max(i.gone_at)) from bellhop.instance i));
    return;
  end if;
  if hindrance.type = 'command' then -- any instance carries it out with its next look
    return;
  end if;
  -- RJM's workers take RJM's jobs of every type that has no other agent.
  if exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = 'rjm')
     and not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = hindrance.type)
     and exists (select from bellhop.jobqueue j join bellhop.rjm r on r.job = j.id
                  where j.type = hindrance.type and j.state = 'ready' and not j.held) then
    agent := 'rjm';
  end if;
  select p.type as what, p.paused_at, p.paused_by into f from bellhop.paused p where p.type in ('', hindrance.type) order by p.type limit 1;
  if found then
    cause := case when f.what = '' then 'paused/all' else 'paused' end;
    args := jsonb_build_object('type', f.what, 'at', date_trunc('second', f.paused_at), 'by', f.paused_by);
    return;
  end if;
  if not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = agent) then
    cause := case when hindrance.type = 'attachment' then 'unknown_type/row' else 'unknown_type' end;
    args := jsonb_build_object('type', quote_literal(hindrance.type), 'there', (
      select ' There are: ' || string_agg(distinct a.type, ', ') || '.' from bellhop.agent a join bellhop.instance i on i.id = a.instance
       where i.state = 'live' and a.type <> 'attachment'));
    return;
  end if;

  with place as materialized (
    select i.id, i.name as instance, i.stop, i.draining_since, i.queries, i.lag, i.standstill || bellhop.since(i.standstill_since) as still,
           case when i.heartbeat_at < clock_timestamp() - i.lag / 2 then clock_timestamp() - i.heartbeat_at end as silent,
           h.name, h.slots, a.type as agent, a.max, a.max_per_host, a.exclusive,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') || bellhop.since(h.state_since) end as down,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') end as down_words,
           a.trouble ->> h.name as trouble, a.deaths -> h.name as death,
           case when a.type is null then 'has no agent of this type'
                when a.local and h.far then 'is not its instance''s own machine, and the agent is local: true'
                when h.only_types is not null and agent <> all (h.only_types)
                  then format('takes only %s (only_types)', array_to_string(h.only_types, ', '))
                when agent = 'rjm' and hindrance.type !~ h.only_rjm then format('takes only types like %s', h.only_rjm)
                when hindrance.priority is not null and (h.only_priorities is not null or h.only_names is not null)
                     and hindrance.priority <> all (coalesce(h.only_priorities, '{}')) and coalesce(hindrance.priority_name !~ h.only_names, true)
                  then format('takes only priorities %s (only_priorities)', concat_ws(' and names like ', array_to_string(h.only_priorities, ', '), h.only_names))
           end as refuses
      from bellhop.instance i
      join bellhop.host h on h.instance = i.id
      left join bellhop.agent a on a.instance = i.id and a.type = agent
     where i.state = 'live' and (a.type is not null or hindrance.run_on is not null)
       and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on)
            or exists (select from bellhop.located l where l.instance = i.id and l.key = hindrance.run_on and h.name = any (l.hosts)))
  ), counted as materialized (
    select p.*,
           (select count(*) from bellhop.child c where c.instance = p.id and c.host = p.name and c.state not in ('FREE', 'FAIL')) as taken,
           (select count(*) from bellhop.child c where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as here,
           (select count(*) from bellhop.child c join bellhop.instance i on i.id = c.instance
             where i.state = 'live' and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as all_over,
           (select count(*) from bellhop.child c where c.instance = p.id and c.type = p.agent and c.state not in ('FREE', 'FAIL')) as of_instance,
           exists (select from bellhop.child c where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state = 'READY') as idle,
           -- After a death there is a pause, and one child at a time until one has finished something.
           coalesce(p.trouble, case when not exists (select from bellhop.child c
                                      where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state in ('READY', 'RUNNING'))
                                    then (p.death ->> 'deaths') || ' deaths in a row: ' || (p.death ->> 'why') end) as failing,
           (select format('%s on %s%s', c.name, c.host, bellhop.since(c.since)) from bellhop.child c
             where c.instance = p.id and c.host = p.name and c.type = p.agent and c.state in ('PREP', 'SPAWNED') limit 1) as coming,
           -- An instance's part of a type's max: all have equal parts, and the first ones get the remainder.
           (select p.max / count(*) + (count(*) filter (where x.instance < p.id) < p.max % count(*))::integer
              from bellhop.agent x join bellhop.instance y on y.id = x.instance where y.state = 'live' and x.type = p.agent) as part
      from place p
     where p.refuses is null
  ), judged as materialized (
    select c.*,
           case when c.idle then null
                when c.taken >= c.slots then format('%s has %s of %s slots taken', c.name, c.taken, c.slots)
                when c.max > 0 and c.all_over >= c.max then format('max is %s, and there are %s', c.max, c.all_over)
                when c.max > 0 and c.of_instance >= c.part then format('max is %s, and the part of instance %s is %s', c.max, c.instance, c.part)
                when c.max_per_host > 0 and c.here >= c.max_per_host then format('max_per_host is %s, and %s has %s', c.max_per_host, c.name, c.here)
           end as crowded,
           case when c.exclusive then
                  (select format('on instance %s run %s', c.instance, string_agg(q.words, ', ')) from (
                     select format('job %s (%s)', q.id, q.type) as words from bellhop.jobqueue q
                      where q.instance = c.id and q.state in ('assigned', 'running') order by q.id limit 5) q having count(*) > 0)
           end as others,
           case when not c.exclusive then
                  coalesce((select format('job %s (%s) is alone on instance %s%s', q.id, q.type, c.instance, bellhop.since(coalesce(q.attempt_at, q.started_at)))
                              from bellhop.jobqueue q
                             where q.instance = c.id and q.state in ('assigned', 'running')
                               and q.type = any (array(select x.type from bellhop.agent x where x.instance = c.id and x.exclusive)) limit 1),
                           'instance ' || c.instance || ' lets what runs there end first, for a job that waits' || bellhop.since(c.draining_since))
           end as alone,
           hindrance.msq and c.queries <= (select count(*) from bellhop.jobqueue q where q.instance = c.id and q.state in ('assigned', 'running') and q.msq is not null)
             and exists (select from bellhop.jobqueue q
                          where q.instance = c.id and q.state in ('assigned', 'running') and q.msq is not null and q.type = c.agent and q.host = c.name) as reading
      from counted c
  )
  select (select count(*) from place) as answer,
         (select string_agg(distinct format('%s %s', p.name, p.refuses), '; ') from place p where p.refuses is not null) as refusals,
         count(*) as fit,
         count(*) filter (where stop is null) as going,
         count(*) filter (where stop is null and silent is null) as heard,
         count(*) filter (where stop is null and silent is null and still is null) as claiming,
         count(*) filter (where stop is null and silent is null and still is null and down is null) as up,
         count(*) filter (where stop is null and silent is null and still is null and down is null and failing is null) as well,
         count(*) filter (where stop is null and silent is null and still is null and down is null and failing is null and others is null) as quiet,
         count(*) filter (where stop is null and silent is null and still is null and down is null and failing is null and others is null and alone is null) as open,
         count(*) filter (where stop is null and silent is null and still is null and down is null and failing is null and others is null and alone is null and reading is not true) as reads,
         count(*) filter (where stop is null and silent is null and still is null and down is null and failing is null and others is null and alone is null and reading is not true
                            and crowded is null and (coming is null or idle)) as able,
         string_agg(distinct coming, '; ') filter (where crowded is null) as coming,
         string_agg(distinct format('%s (%s) is to %s', id, instance, stop), '; ') filter (where stop is not null) as stops,
         string_agg(distinct format('%s (%s) for %s, with a lag of %s', id, instance, date_trunc('second', silent), lag), '; ') filter (where silent is not null) as silences,
         string_agg(distinct format('%s (%s): %s', id, instance, still), '; ') filter (where still is not null) as stills,
         string_agg(distinct format('%s: %s', name, down), '; ') as down,
         string_agg(distinct format('%s: %s', name, down_words), '; ') filter (where down is not null) as down_words,
         string_agg(distinct format('%s: %s', name, failing), '; ') filter (where failing is not null) as failing,
         string_agg(distinct others, '; ') as others,
         string_agg(distinct alone, '; ') as alone,
         string_agg(distinct format('%s (%s), %s', id, instance, queries), '; ') filter (where reading) as queries,
         string_agg(distinct crowded, '; ') as crowded,
         string_agg(distinct format('host %s of instance %s, with %s of %s slots taken', name, id, taken, slots), '; ') as checked
    into f
    from judged;

  if f.answer = 0 then
    cause := case when hindrance.run_on is null then 'no_host/none' else 'no_host' end;
    detail := hindrance.run_on || coalesce((select ' (locate: ' || min(l.error) || ')' from bellhop.located l where l.key = hindrance.run_on), '');
    args := jsonb_build_object('place', quote_literal(hindrance.run_on), 'locate', substr(detail, length(hindrance.run_on) + 1), 'there', (
      select ' There are: ' || string_agg(distinct h.name, ', ') || '.' from bellhop.host h join bellhop.instance i on i.id = h.instance where i.state = 'live'));
  elsif f.fit = 0 then
    cause := 'no_host/refused';
    detail := f.refusals;
    args := jsonb_build_object('hosts', f.refusals);
  elsif f.going = 0 then
    cause := 'instance_stopping';
    args := jsonb_build_object('instances', f.stops);
  elsif f.heard = 0 then
    cause := 'instance_silent';
    args := jsonb_build_object('instances', f.silences);
  elsif f.claiming = 0 then
    cause := 'instance_busy';
    args := jsonb_build_object('instances', f.stills);
  elsif f.up = 0 then
    cause := 'host_down';
    detail := f.down_words;
    args := jsonb_build_object('hosts', f.down);
  elsif f.well = 0 then
    cause := 'agent_fails';
    detail := f.failing;
    args := jsonb_build_object('hosts', f.failing);
  elsif f.quiet = 0 then
    cause := 'exclusive';
    detail := 'waits until nothing else runs';
    args := jsonb_build_object('jobs', f.others);
  elsif f.open = 0 then
    cause := 'exclusive/behind';
    detail := 'a job that must be alone comes first';
    args := jsonb_build_object('jobs', f.alone);
  elsif f.reads = 0 then
    cause := 'queries_full';
    args := jsonb_build_object('instances', f.queries);
  elsif f.able = 0 and f.coming is not null then
    cause := 'child_starting/first';
    args := jsonb_build_object('children', f.coming);
  elsif f.able = 0 then
    cause := 'no_room';
    args := jsonb_build_object('limits', f.crowded, 'children', (
      select ' ' || string_agg(x.words, '; ') || '.' from (
        select format('%s on %s is %s%s for %s%s', c.name, c.host, c.state, coalesce(' (job ' || c.job || ')', ''), date_trunc('second', clock_timestamp() - c.since),
                      case when c.kept_until > clock_timestamp() -- an idle child whose own type has work
                           then format(', and makes room for %s in %s s: %s', c.kept_from, ceil(extract(epoch from c.kept_until - clock_timestamp())), c.kept_by) end) as words
          from bellhop.instance i join bellhop.host h on h.instance = i.id join bellhop.child c on c.instance = h.instance and c.host = h.name
         where i.state = 'live' and c.state not in ('FREE', 'FAIL') and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on))
         order by c.since limit 5) x));
  else
    args := jsonb_build_object('checked', f.checked); -- and nothing found
  end if;
end
$$;

-- why_waiting: the same, as waiting_for has it: the code, and the details behind it.
-- Grant: reader scheduler
create or replace function bellhop.why_waiting(type text, run_on text default null) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select split_part(h.cause, '/', 1) || coalesce(': ' || h.detail, '') from bellhop.hindrance(why_waiting.type, why_waiting.run_on) h
$$;
