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

-- types_there: the types that running instances serve, for the sentence about one that they do not; of many, the ones
-- with the most similar names: those that share most pairs of letters. NULL: none. Index: instance_live, agent's primary key.
-- Grant: submitter reader scheduler
create or replace function bellhop.types_there(type text) returns text
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with live as materialized (
    select distinct a.type from bellhop.agent a join bellhop.instance i on i.id = a.instance where i.state = 'live' and a.type <> 'attachment'
  ), pairs as (
    select n.type, array_agg(distinct substr(n.text, g, 2)) as all
      from (select l.type, lower('^' || left(l.type, 64) || '$') as text from live l
            union all select null, lower('^' || left(types_there.type, 64) || '$')) n
     cross join lateral generate_series(1, length(n.text) - 1) g
     where (select count(*) from live) > 8
     group by n.type
  ), near as (
    select string_agg(x.type, ', ' order by x.alike desc, x.type) as names
      from (select p.type, 2.0 * (select count(*) from unnest(p.all) a (pair) where a.pair = any (m.all)) / (cardinality(p.all) + cardinality(m.all)) as alike
              from pairs p join pairs m on m.type is null
             where p.type is not null order by 2 desc, 1 limit 5) x
     where x.alike > 0.3
  )
  select case when t.n <= 8 then ' There are: ' || t.names || '.'
              else coalesce(format(' Of %s types, these have the most similar names: ', t.n) || near.names || '.',
                            format(' There are %s types, none with a similar name.', t.n)) end
    from (select count(*) as n, string_agg(l.type, ', ' order by l.type) as names from live l) t cross join near
$$;

-- hindered: a cause that bellhop.hindrance gives, in words.
-- Grant: submitter reader scheduler
create or replace function bellhop.hindered(cause text, args jsonb, id text) returns table (code text, sentence text, next text)
language sql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select r.code, r.sentence, r.next
    from bellhop.reason(hindered.cause, hindered.args || jsonb_build_object('id', hindered.id)
      || case when hindered.args ? 'unserved' then jsonb_build_object('there', bellhop.types_there(hindered.args ->> 'unserved')) else '{}' end) r
$$;

-- agent_fails: the form of that cause, by what hosts tell (scheduler.Respawn): whether the agent comes up, and dies
-- while it works.
-- Grant: reader scheduler
create or replace function bellhop.agent_fails(words text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when words ~ '[0-9] (child died while it|children died while they) worked, |(^|: )[0-9]+ deaths in a row: ' then 'agent_fails/works' else 'agent_fails' end
$$;

-- hindrance: what keeps every ready job of a type, with a name in run_on and a priority, from starting: a cause of
-- bellhop.causes, the values for its sentence, and the details behind the code in waiting_for. No cause: the jobs only
-- wait for their turn. Marks in waiting_for and bellhop.explanation both ask here, so that they never differ.
-- It decides nothing of its own: hosts tell which types they refuse and which bounds these have hit (scheduler.Terms,
-- scheduler.Bounds). What no host can tell is read here: which instances are there, and which jobs the queue says run on
-- them. Of the latter scheduler/intake says the same; TestHindrance_SaysWhatTheTreeDecides compares the two.
-- priority NULL: it ignores which priorities hosts take.
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
  logins text := (select string_agg(w.login, ', ' order by w.login) from bellhop.worker_type w
                   where w.type = hindrance.type and not msq and run_on is null); -- whose workers take it
begin
  if logins is null and not exists (select from bellhop.instance i where i.state = 'live') then
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
    args := jsonb_build_object('type', f.what, 'at', bellhop.clock(f.paused_at), 'by', f.paused_by);
    return;
  end if;
  if not exists (select from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type = agent) then
    cause := case when logins is not null then 'no_worker' when hindrance.type = 'attachment' then 'unknown_type/row'
                  when hindrance.type !~ '^[A-Za-z0-9_:-]+$' then 'unknown_type/worker' else 'unknown_type' end;
    args := jsonb_build_object('type', quote_literal(hindrance.type), 'unserved', hindrance.type, 'logins', logins, 'taken', 'has taken it yet');
    return;
  end if;

  -- Of each host the first thing that keeps the jobs from it; of all hosts the one that comes last: that host is the nearest to starting them.
  with place as materialized (
    select i.id, i.name as instance, i.stop, i.draining_since, i.queries, i.lag, i.standstill || bellhop.since(i.standstill_since) as still,
           case when i.heartbeat_at < clock_timestamp() - i.lag / 2 then bellhop.lasting(clock_timestamp() - i.heartbeat_at) end as silent,
           h.name, h.slots, a.exclusive, a.trouble ->> h.name as trouble,
           case when h.state <> 'up' then coalesce(h.trouble, 'it is being connected to') end as down, bellhop.since(h.state_since) as down_since,
           case when a.type is null then 'has no agent of this type'
                when a.refused ? h.name then a.refused ->> h.name
                when agent = 'rjm' and hindrance.type !~ h.only_rjm then format('takes only types like %s', h.only_rjm)
                when hindrance.priority is not null and bellhop.takes(h.only_priorities, h.only_names, hindrance.priority, hindrance.priority_name) is not true
                  then format('takes only priorities %s (only_priorities)', concat_ws(' and names like ', array_to_string(h.only_priorities, ', '), h.only_names))
           end as refuses,
           case when h.bounds is null then format('no_room: %s does not tell how full it is, since its instance is older than the database', h.name)
                else coalesce(h.bounds ->> a.type, h.bounds ->> '') end as bound
      from bellhop.instance i
      join bellhop.host h on h.instance = i.id
      left join bellhop.agent a on a.instance = i.id and a.type = agent
     where i.state = 'live' and (a.type is not null or hindrance.run_on is not null)
       and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on)
            or exists (select from bellhop.located l where l.instance = i.id and l.key = hindrance.run_on and h.name = any (l.hosts)))
  ), busy as not materialized (
    select q.instance, q.host, q.id, q.type, q.msq, bellhop.since(coalesce(q.attempt_at, q.started_at)) as since
      from bellhop.jobqueue q where q.state in ('assigned', 'running')
  )
  select r.cause, string_agg(distinct r.words, '; ') as words, string_agg(distinct r.detail, '; ') as detail into f
    from place p
   cross join lateral (select nullif(split_part(p.bound, ': ', 1), '') as code, substr(p.bound, strpos(p.bound, ': ') + 2) as says) hit
   cross join lateral (
     select * from (values
       (1, 'no_host/refused', p.name || ' ' || p.refuses, p.name || ' ' || p.refuses),
       (2, 'instance_stopping', format('%s (%s) is to ', p.id, p.instance) || p.stop, null),
       (3, 'instance_silent', format('%s (%s) for ', p.id, p.instance) || p.silent || format(', with a lag of %s', bellhop.lasting(p.lag)), null),
       (4, 'instance_busy', format('%s (%s): ', p.id, p.instance) || p.still, null),
       (5, 'host_down', p.name || ': ' || p.down || p.down_since, p.name || ': ' || p.down),
       (6, 'agent_fails', p.name || ': ' || coalesce(p.trouble, case when hit.code = 'agent_fails' then hit.says end),
                          p.name || ': ' || coalesce(p.trouble, case when hit.code = 'agent_fails' then hit.says end)),
       (7, 'exclusive', case when p.exclusive then
             (select format('on instance %s run ', p.instance) || string_agg(format('job %s (%s)', q.id, q.type), ', ' order by q.id)
                from (select b.id, b.type from busy b where b.instance = p.id order by b.id limit 5) q) end, 'waits until nothing else runs'),
       (8, 'exclusive/behind', case when not p.exclusive then coalesce(
             (select format('job %s (%s) is alone on instance %s%s', b.id, b.type, p.instance, b.since) from busy b
               where b.instance = p.id and b.type = any (array(select x.type from bellhop.agent x where x.instance = p.id and x.exclusive)) limit 1),
             'instance ' || p.instance || ' lets what runs there end first, for a job that waits' || bellhop.since(p.draining_since)) end, 'a job that must be alone comes first'),
       (9, 'queries_full', case when hindrance.msq and p.queries <= (select count(*) from busy b where b.instance = p.id and b.msq is not null)
             and exists (select from busy b where b.instance = p.id and b.msq is not null and b.type = agent and b.host = p.name)
             then format('%s (%s), %s', p.id, p.instance, p.queries) end, null),
       (10, 'no_room', case when hit.code = 'no_room' then hit.says end, null),
       (11, 'no_room/resource', case when hit.code = 'no_room/resource' then hit.says end, null),
       (12, 'child_starting/first', case when hit.code = 'child_starting' then coalesce(
             (select format('%s on %s%s', c.name, c.host, bellhop.since(c.since)) from bellhop.child c
               where c.instance = p.id and c.host = p.name and c.type = agent and c.state in ('PREP', 'SPAWNED', 'RUNNING') order by c.since limit 1), hit.says) end, null),
       (13, null, format('host %s of instance %s, with %s of %s slots taken', p.name, p.id,
              (select coalesce(sum(coalesce(x.slots, 1)), 0) from bellhop.child c left join bellhop.agent x on x.instance = c.instance and x.type = c.type
                where c.instance = p.id and c.host = p.name and c.state not in ('FREE', 'FAIL')), p.slots), null)
     ) r (rung, cause, words, detail) where r.words is not null order by r.rung limit 1) r
   group by r.rung, r.cause order by r.rung desc limit 1;

  if found then
    cause := case when f.cause = 'agent_fails' then bellhop.agent_fails(f.words) else f.cause end;
    detail := f.detail;
    args := jsonb_build_object('what', f.words);
  else
    cause := case when hindrance.run_on is null then 'no_host/none' else 'no_host' end;
    detail := hindrance.run_on || coalesce((select ' (locate: ' || min(l.error) || ')' from bellhop.located l where l.key = hindrance.run_on), '');
    args := jsonb_build_object('place', quote_literal(hindrance.run_on), 'locate', substr(detail, length(hindrance.run_on) + 1), 'there', (
      select ' There are: ' || string_agg(distinct h.name, ', ') || '.' from bellhop.host h join bellhop.instance i on i.id = h.instance where i.state = 'live'));
  end if;
  if cause in ('no_room', 'no_room/resource') then
    args := args || jsonb_build_object('children', (
      select ' ' || string_agg(x.words, '; ') || '.' from (
        select format('%s on %s is %s%s for %s%s', c.name, c.host, c.state, coalesce(' (job ' || c.job || ')', ''), bellhop.lasting(clock_timestamp() - c.since),
                      case when c.kept_until > clock_timestamp() -- an idle child whose own type has work
                           then format(', and makes room for %s in %s s: %s', c.kept_from, ceil(extract(epoch from c.kept_until - clock_timestamp())), c.kept_by) end) as words
          from bellhop.instance i join bellhop.host h on h.instance = i.id join bellhop.child c on c.instance = h.instance and c.host = h.name
         where i.state = 'live' and c.state not in ('FREE', 'FAIL') and (hindrance.run_on is null or bellhop.answers(h.name, h.serves, hindrance.run_on))
         order by c.since limit 5) x));
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
