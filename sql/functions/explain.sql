-- explanation: everything that keeps a job from running, or how it ended and why: for each a code that stays the same,
-- a sentence, and the command that would change it. No row: there is no such job. All codes and their words are in
-- bellhop.causes. Agents' words are shown to operators only, as in bellhop.log.
-- Indexes: the queue's primary key, jobqueue_ready, jobqueue_pinned, jobqueue_taken; the primary keys of the rest.
-- Grant: submitter reader scheduler
create or replace function bellhop.explanation(id bigint) returns table (code text, sentence text, next text)
language plpgsql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' -- of times in sentences
as $$
#variable_conflict use_column
declare
  j     bellhop.jobqueue;
  r     record;
  h     record;
  made  xid; -- the transaction that made the row as it is
  hand  xid; -- and one that may have locked it since
  is_at text; -- its state, also where triggers were disabled and its column does not say so
  seen  boolean;
  n     bigint;
  found_one boolean := false;
  roomless boolean; -- neither a lock nor a filter is in its way
  error text;
  what  text;
begin
  select q.xmin, q.xmax into made, hand from bellhop.jobqueue q where q.id = explanation.id;
  select null::text as cause, null::jsonb as args into h;
  select * into j from bellhop.jobqueue q where q.id = explanation.id;
  if not found or not (bellhop.is_reader() or bellhop.owns(j.submitted_by)) then
    return;
  end if;
  if j.max_attempts = 1 and j.own_attempts is not true then
    j.max_attempts := coalesce((select max(a.attempts) from bellhop.agent a join bellhop.instance i on i.id = a.instance and i.state = 'live' where a.type = j.type), 1);
  end if;
  is_at := case when j.state not in ('held', 'blocked', 'scheduled', 'ready') then j.state
                when j.held or j.state = 'held' then 'held'
                when j.state = 'blocked' or j.unmet is not null or exists (select from bellhop.dependency d where d.job = j.id and not d.counted) then 'blocked'
                when j.state = 'scheduled' or j.run_at > clock_timestamp() then 'scheduled'
                else 'ready' end;
  if not (bellhop.is_operator() or bellhop.owns(j.submitted_by)) then
    j.error := bellhop.reason_of(j.error, j.reason);
  end if;

  -- If a run waits until its workflow is active again, only that lets its jobs go.
  select x.workflow into what from bellhop.run x
   where x.id = j.run and x.state = 'queued' and x.reason is not null and is_at in ('held', 'blocked');
  if what is not null then
    return query select * from bellhop.reason('inactive/run', jsonb_build_object('run', j.run, 'name', what));
  end if;
  if is_at = 'held' and (what is null or j.type <> 'dummy') then
    return query select * from bellhop.reason('held', jsonb_build_object('id', j.id));
  end if;

  if is_at = 'blocked' then
    for r in select d.needs, d.wanted, q.state, q.type from bellhop.dependency d left join bellhop.jobqueue q on q.id = d.needs
              where d.job = j.id and not d.met order by d.needs limit 10
    loop
      found_one := true;
      return query select * from bellhop.reason(
        case when r.state is null then 'blocked/deleted'
             when r.state in ('succeeded', 'failed', 'cancelled', 'quarantined') and r.state <> all (r.wanted) then 'blocked/ended'
             else 'blocked' end,
        jsonb_build_object('id', j.id, 'needs', r.needs, 'type', r.type, 'wanted', array_to_string(r.wanted, ' or '), 'state', r.state));
    end loop;
    for r in
      select a.name, a.pool, x.key from bellhop.attached x join bellhop.attachment a on a.id = x.attachment
       where x.job = j.id and x.live and x.ahead is not null and not found_one
    loop
      found_one := true;
      return query select * from bellhop.reason('pool_full/job', jsonb_build_object('id', j.id, 'name', r.name, 'pool', r.pool, 'key', r.key, 'more', r.pool + 1));
    end loop;
    if not found_one then
      return query select * from bellhop.reason('blocked/unseen', jsonb_build_object('id', j.id));
    end if;
  end if;

  if is_at = 'scheduled' then
    select rests.event, bellhop.since(coalesce(rests.since, (select max(s.at) from bellhop.saved_step s where s.job = j.id and s.name ~ '^sleep[.][0-9]+$'))) as since
      into r from (select) one left join bellhop.awaits rests on rests.job = j.id and not rests.told;
    return query select * from bellhop.reason(
      case when j.waiting_for in ('retry_delay', 'snoozed', 'sleeps') then j.waiting_for
           when j.waiting_for like e'awaits\\_event: %' then case when isfinite(j.run_at) then 'awaits_event' else 'awaits_event/ever' end
           when j.waiting_for like 'no_resources: %' then 'no_resources'
           when j.waiting_for like e'no\\_key: %' then 'no_key' else 'scheduled' end,
      jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2), 'since', r.since, 'event', r.event,
        'have', coalesce((select 'it is on instance ' || string_agg(i.name, ', ' order by i.name) from bellhop.instance i
                           where i.state = 'live' and bellhop.key_wanted(j.waiting_for) = any (i.keys)), 'no live instance has that key'),
        'keeps', (select ' It keeps its locks.' from bellhop.lock_grant g where g.job = j.id and g.fence = j.fence and g.rests limit 1),
        'quoted', case when r.event ~ '^[A-Za-z0-9_.:/@%+-]+$' then r.event else '''' || replace(r.event, '''', e'''\\''''') || '''' end,
        'attempt', j.attempt, 'most', j.max_attempts, 'at', bellhop.clock(j.run_at), 'error', coalesce(j.error, 'no reason was given'), 'in',
        case when isfinite(j.run_at) then format(', in %s', bellhop.lasting(j.run_at - clock_timestamp())) else ', which is never' end));
  end if;

  -- Nothing starts or ends on a server that takes no writes, and a standby does not know at all what children do.
  if is_at in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running') then
    return query select x.code, x.sentence, x.next
      from bellhop.read_only() o
     cross join lateral bellhop.reason(o, jsonb_build_object('id', j.id, 'state', is_at,
       'since', (select bellhop.since(max(i.heartbeat_at)) from bellhop.instance i))) x
     where o is not null;
    if found then
      return;
    end if;
  end if;

  if is_at in ('held', 'blocked', 'scheduled', 'ready') and hand <> '0' then
    -- Each transaction holds a lock on its own id: so that lock names the process that has locked the row.
    for r in select l.pid, a.usename, a.application_name, a.xact_start, a.state,
                    (select x.gid from pg_prepared_xacts x where x.transaction = hand) as gid
               from pg_locks l left join pg_stat_activity a on a.pid = l.pid
              where l.locktype = 'transactionid' and l.transactionid = hand and l.granted and l.pid is distinct from pg_backend_pid()
    loop
      -- A session at its normal work is not to be ended.
      return query select * from bellhop.reason(case when r.pid is null then 'in_hand/prepared' when r.xact_start > clock_timestamp() - interval '3 s' then 'in_hand/brief'
                                                     else 'in_hand' end,
        jsonb_build_object('id', j.id, 'pid', r.pid, 'gid', r.gid, 'since', bellhop.since(r.xact_start), 'who',
          format('process %s of the server%s%s%s', r.pid, coalesce(', user ' || r.usename, ''), coalesce(', application ' || nullif(r.application_name, ''), ''), coalesce(', ' || r.state, ''))));
      found_one := true;
    end loop;
  end if;

  if is_at = 'ready' then
    return query select x.code, x.sentence, x.next from bellhop.engine_job e cross join lateral bellhop.reason('on_engine/left', jsonb_build_object('id', j.id,
      'engine', e.engine, 'tag', e.tag, 'id_there', ' (there: ' || e.engine_id || ')')) x
     where e.job = j.id and e.attempt = j.attempt + 1 and e.state in ('submitting', 'running', 'ended');
  end if;

  if is_at = 'ready' and j.locks is not null then
    -- The row's own words come first while they are true: a lock that the job did not get to may also be held.
    if exists (select from bellhop.jobqueue q where q.state = 'ready'
                  and q.id = substring(j.waiting_for from '^lock_reserved: .*, and job ([0-9]+), which has waited longer, comes first with ')::bigint) then
      found_one := true;
      return query select * from bellhop.reason('lock_reserved', jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, 16)));
    end if;
    for r in select distinct on (h.job) h.job, h.since, h.want, q.type, h.held
               from bellhop.lock_holders(bellhop.wanted_locks(j.locks, j.waiting_for, j.behind)) h
               join bellhop.jobqueue q on q.id = h.job
              where h.job <> j.id
              order by h.job, h.want limit 10
    loop
      found_one := true;
      return query select * from bellhop.reason('lock_held', jsonb_build_object('id', j.id, 'lock', r.want, 'job', r.job,
        'type', r.type, 'held', r.held, 'since', bellhop.since(r.since)));
    end loop;
    select f.id, f.action, ' It says: ' || nullif(f.reason, '') as why into r from bellhop.applying_filter(j) f;
    if r.action = 'PAUSE' or r.action like 'RATE_LIMIT %' and j.waiting_for ~ '^rate_limited: as many (run|have started) as filter ' then
      found_one := true;
      return query select * from bellhop.reason(case r.action when 'PAUSE' then 'filter_paused' else 'rate_limited/filter' end,
        jsonb_build_object('rule', r.id, 'action', r.action, 'why', r.why,
                           'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    end if;
    if not found_one and j.waiting_for ~ '^(lock_reserved|rate_limited|locks_malformed): ' then
      found_one := true;
      return query select * from bellhop.reason(split_part(j.waiting_for, ':', 1)
          || case when j.waiting_for ~ '^locks_malformed: .*there is no level "' then '/level' else '' end,
        jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    end if;
  end if;

  if is_at = 'ready' then
    roomless := not found_one;
    h := bellhop.hindrance(j.type, j.run_on, j.priority, j.priority_name, j.msq is not null);
    if h.cause is null and j.waiting_for ~ '^(agent_fails|host_down): ' then -- newer, where a host has just given it back
      h.cause := substring(j.waiting_for from '^[a-z_]+');
      h.args := jsonb_build_object('what', substr(j.waiting_for, length(h.cause) + 3));
      h.cause := case when h.cause = 'agent_fails' then bellhop.agent_fails(h.args ->> 'what') else h.cause end;
    end if;
    if h.cause = 'no_worker' and (j.attempt > 0 or j.started_at is not null) then
      h.args := h.args || jsonb_build_object('taken', 'works on it now');
    end if;
    if h.cause is not null then
      found_one := true;
      return query select * from bellhop.hindered(h.cause, h.args, j.id::text);
    end if;
    if h.cause is null or split_part(h.cause, '/', 1) in ('no_room', 'queries_full', 'exclusive', 'child_starting') then
      if j.locks is null and bellhop.has_shares(j.type) or j.locks is not null and roomless then
        select a.starts, a.next into r
          from (select) one
          left join lateral bellhop.share_ahead(j) s on j.locks is null
          left join lateral bellhop.lock_share_ahead(j) l on j.locks is not null
         cross join lateral (select coalesce(s.starts, l.starts) as starts, coalesce(s.next, l.next) as next) a;
        if r.starts > 0 then
          found_one := true;
          return query select * from bellhop.reason('fair_share', jsonb_build_object('type', j.type,
            'key', coalesce(j.share, 'none'), 'jobs', case when r.starts = 1 then '1 start comes' else r.starts || ' starts come' end,
            'next', case when r.next is null then 'earlier jobs of its own key' when r.next = '' then 'jobs without a key come next' else 'key ' || r.next || ' is next' end));
        end if;
      end if;
      select count(*) into n from (
        (select from bellhop.jobqueue q
          where j.run_on is null and q.type = j.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null and q.share is null and j.share is null and (q.priority, q.id) < (j.priority, j.id)
          limit 10000)
        union all
        (select from bellhop.jobqueue q
          where j.run_on is not null and q.type = j.type and q.state = 'ready' and not q.held and q.run_on = j.run_on and q.locks is null and q.share is null and j.share is null and (q.priority, q.id) < (j.priority, j.id)
          limit 10000)) x;
      if n > 0 then
        found_one := true;
        return query select * from bellhop.reason('queued', jsonb_build_object('type', j.type,
          'jobs', case when n = 10000 then 'At least 10000 jobs' when n = 1 then '1 job' else n || ' jobs' end, 'come', case when n = 1 then 'comes' else 'come' end));
      end if;
    end if;
    if not found_one then
      -- A job of another type for which there is no room keeps less urgent jobs from starting before it.
      for r in
        select x.id, x.type, x.priority
          from (select distinct a.type from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live' and a.type <> j.type) t
         cross join lateral (
           select q.id, q.type, q.priority from bellhop.jobqueue q
            where q.type = t.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null and q.share is null and q.priority < j.priority
            order by q.priority, q.id limit 1) x
         where (select o.cause from bellhop.hindrance(x.type, null, x.priority) o) = 'no_room'
         order by x.priority, x.id limit 1
      loop
        found_one := true;
        return query select * from bellhop.reason('queued/others', jsonb_build_object('job', r.id, 'other', r.type, 'priority', r.priority));
      end loop;
    end if;
    if not found_one and j.waiting_for is not null and not exists (select from bellhop.causes() c where c.code = substring(j.waiting_for from '^[a-z_]+')) then
      found_one := true;
      return query select * from bellhop.reason('waits', jsonb_build_object('id', j.id, 'what', j.waiting_for));
    end if;
    if not found_one then
      -- Whether an instance has looked since the row became as it is: each transaction below `looked` was over when
      -- that look began.
      select bool_or(((i.looked::text::numeric % 4294967296)::bigint - made::text::bigint + 4294967296) % 4294967296 between 1 and 2147483647) into seen
        from bellhop.instance i where i.state = 'live';
      return query select * from bellhop.reason(case when seen then 'unexplained' else 'not_looked_at' end, coalesce(h.args, '{}') || jsonb_build_object('id', j.id,
        'looked', (select format(', which was at %s', bellhop.clock(max(i.looked_at))) from bellhop.instance i where i.state = 'live' having max(i.looked_at) is not null)));
    end if;

  elsif is_at in ('assigned', 'running') then
    if is_at = 'assigned' and j.waiting_for like 'lock_held: %' then
      return query select * from bellhop.reason('lock_held/asked', jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, strpos(j.waiting_for, ': ') + 2)));
    elsif is_at = 'assigned' then
      select c.name, c.state, c.since, a.mode, a.deaths -> j.host as death into r
        from bellhop.agent a
        left join bellhop.child c on c.instance = a.instance and c.host = j.host and c.type = a.type and c.state in ('PREP', 'SPAWNED')
       where a.instance = j.instance and a.type = j.type
       order by c.since limit 1;
      return query select * from bellhop.reason(
        case when r.state = 'SPAWNED' and r.mode = 'warm' then 'child_starting/silent' else 'child_starting' end,
        jsonb_build_object('id', j.id, 'instance', j.instance, 'host', j.host,
          'since', (select bellhop.since(x.at) from (select r.since as at) x),
          'child', case when r.state = 'SPAWNED' and r.mode = 'warm' then r.name else coalesce(', ' || r.name || ' (' || r.state || ')', '') end));
      if r.death is not null then
        return query select * from bellhop.reason('last_death', jsonb_build_object('n', r.death ->> 'deaths', 'host', j.host,
          'at', bellhop.clock((r.death ->> 'at')::timestamptz), 'why', r.death ->> 'why'));
      end if;
    else
      return query select * from bellhop.reason(case when j.instance = 0 then 'running/worker' else 'running' end, jsonb_build_object('id', j.id,
        'pid', j.child, 'until', bellhop.clock(j.lease_until),
        'at', bellhop.clock(coalesce(j.attempt_at, j.started_at)), 'for', bellhop.lasting(clock_timestamp() - coalesce(j.attempt_at, j.started_at)),
        'host', j.host, 'instance', j.instance, 'attempt', j.attempt, 'most', j.max_attempts,
        'child', (select format(' by %s, pid %s', c.name, c.pid) from bellhop.child c where c.instance = j.instance and c.job = j.id and j.msq is null limit 1),
        'items', case when j.msq is not null then format('; items done %s, failed %s, of %s',
                   coalesce(j.items_done, 0), coalesce(j.items_failed, 0), coalesce(j.items_total::text, 'not known yet')) end));
      return query select x.code, x.sentence, x.next from bellhop.engine_job e cross join lateral bellhop.reason('on_engine', jsonb_build_object('id', j.id,
        'engine', e.engine, 'tag', e.tag, 'id_there', ' (there: ' || e.engine_id || ')', 'stage',
        case when e.how is not null then 'it is over there, ' || e.how when e.state = 'submitting' then 'it is being submitted' when e.stage is null then 'it was accepted, and has not been seen there yet'
             else e.stage || ' there' || coalesce(' since ' || bellhop.clock(e.ran_at), '') end)) x
       where e.job = j.id and e.attempt = j.attempt and e.state <> 'over';
      if j.msq is not null and j.waiting_for like 'lock_held: %' then
        return query select * from bellhop.reason('lock_held/items', jsonb_build_object('id', j.id, 'what', substr(j.waiting_for, 12)));
      end if;
      if j.waiting_for like 'items_wait: %' then
        for r in select x.m[1] as n, nullif(x.m[2], 'any host') as place, x.m[3]::timestamptz as since
                   from regexp_matches(j.waiting_for, '([0-9]+?) for (.+?) since ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.0-9]*Z)(?:, (?=[0-9]+ for )|$)', 'g') x (m)
        loop
          h := bellhop.hindrance(j.type, r.place, j.priority, j.priority_name);
          return query
            select i.code, i.sentence, i.next
              from (select (bellhop.hindered(h.cause, h.args, j.id::text)).* where h.cause is not null) w (code, sentence, next)
             right join (select) one on true
             cross join lateral bellhop.reason(case when h.cause is null then 'items_wait/starting' else 'items_wait' end,
               jsonb_build_object('id', j.id, 'n', r.n, 'since', bellhop.since(r.since), 'place', ' for ' || r.place, 'why', w.code || ': ' || w.sentence, 'next', w.next)) i;
        end loop;
      end if;
    end if;
    if j.msq is not null and exists (select from bellhop.paused p where p.type in ('', j.type)) and j.waiting_for is null then
      h := bellhop.hindrance(j.type);
      return query select * from bellhop.hindered(h.cause, h.args, j.id::text);
    end if;
    if j.cancel_requested then
      return query select * from bellhop.reason(case when j.killed_by is not null then 'cancel_requested/killed' else 'cancel_requested' end,
        jsonb_build_object('id', j.id, 'by', j.killed_by));
    end if;

  elsif is_at not in ('held', 'blocked', 'scheduled') then
    -- error begins with a code if there is one; else it is what the agent said, or how the agent ended.
    error := coalesce(j.error, 'no reason was given');
    what := substring(error from '^([a-z]+(?:_[a-z]+)*): ');
    if not exists (select from bellhop.causes() c where c.cause = what and c.of = 'ended' and what not in ('killed', 'succeeded', 'cancelled', 'no_data', 'skipped')) then
      what := substring(error from '^(args_too_long)$');
    else
      error := substr(error, length(what) + 3);
    end if;
    what := case when j.state = 'cancelled' and what in ('filter_rejected', 'expired') then what
                 when j.state = 'succeeded' and j.ended_as = 'skipped' and j.attempt = 0 then 'skipped/passed_over'
                 when j.state = 'succeeded' and j.ended_as is not null then j.ended_as
                 when j.state = 'quarantined' and j.error like 'kills_guard: %' then 'kills_guard'
                 when j.state in ('succeeded', 'cancelled', 'quarantined') then j.state
                 when j.killed_by is not null and j.error like 'killed: %' then 'killed'
                 when j.type = 'command' then 'command_failed'
                 when j.error like 'these jobs wait for each other for ever%' then 'needs_cycle'
                 when (j.ended_by is not null or j.attempt = 0) and (j.error like 'job % which it needs, %' or j.error like 'it needs %') -- the latter: before version 63
                   then case when exists (select from bellhop.jobqueue q where q.id = j.ended_by) then 'needs_failed' else 'needs_failed/deleted' end
                 when what is not null then what
                 when j.attempt = 0 then 'never_ran'
                 when j.deaths > 0 then 'agent_died'
                 else 'agent_failed' end;
    return query select * from bellhop.reason(what, jsonb_build_object('id', j.id, 'error', error, 'by', j.killed_by, 'deaths', j.deaths,
      'exit_code', coalesce(j.exit_code::text, 'none'), 'root', j.ended_by, 'rule', substring(error from '^filter ([A-Za-z0-9._-]+)'), 'failed', j.items_failed, 'done', j.items_done,
      'items', case when j.items_total is not null then format(' Items: %s.', j.items_total) end,
      'first', case when what in ('items_failed', 'too_many_failures') and bellhop.is_operator() then
        (select format(' The first: item %s: %s', i.item, i.error) from bellhop.item i where i.job = j.id order by i.fence desc, i.item limit 1) end));
    if j.attempt > 0 and j.started_at is not null then
      return query select * from bellhop.reason('ran_on', jsonb_build_object('id', j.id, 'attempt', j.attempt, 'most', j.max_attempts, 'host', coalesce(j.host, 'no host'),
        'child', ' by ' || j.child, 'to', bellhop.ago(j.ended_at),
        'for', bellhop.took(j.ended_at - coalesce(j.attempt_at, j.started_at))));
    end if;
    if j.state <> 'succeeded' and bellhop.is_operator() then
      select string_agg(x.line, e'\n    ' order by x.id) into what from (
        select l.id, l.line from bellhop.log l
         where l.job = j.id and l.level in ('err', 'error', 'note') and l.attempt is not distinct from nullif(j.attempt, 0)
         order by l.id desc limit 5) x;
      if what is not null then
        return query select * from bellhop.reason('last_words', jsonb_build_object('id', j.id, 'words', what));
      end if;
    end if;
  end if;

  if is_at in ('blocked', 'ready', 'assigned', 'running') then
    what := bellhop.chain(j.id);
    if what is not null then
      return query select * from bellhop.reason('chain', jsonb_build_object('id', j.id, 'chain', what,
        'last', (select b.job from bellhop.blockers(j.id) b order by b.n desc limit 1)));
    end if;
  end if;

  for r in select x.id, x.workflow, x.state from bellhop.run x where x.id = j.run and j.step is not null
  loop
    return query select * from bellhop.reason('step_of', jsonb_build_object('step', j.step, 'run', r.id, 'workflow', r.workflow, 'state', r.state));
  end loop;

  return query select x.code, x.sentence, x.next from bellhop.promise p
    cross join lateral bellhop.reason(case when p.outcome is not null then 'promised/' || p.outcome when p.danger_at is not null then 'promise_in_danger'
        when p.ends is null then 'promised/unknown' else 'promised' end,
      jsonb_build_object('id', j.id, 'by', bellhop.clock(p.by), 'why', p.why, 'starts', bellhop.clock(p.starts),
        'ends', bellhop.clock(p.ends), 'certainty', round(100 * p.certainty))) x
   where p.job = j.id;

  for r in select l.* from bellhop.lost_run l where l.job = j.id order by l.n desc limit 1
  loop
    return query select * from bellhop.reason('lost', jsonb_build_object('id', j.id, 'reason', r.reason, 'host', coalesce(r.host, 'no host'), 'child', ' by ' || r.child,
      'to', bellhop.ago(r.lost_at), 'for', ' after ' || bellhop.took(r.lost_at - r.started_at),
      'more', case when j.lost > 1 then format(' %s runs of it were lost so far.', j.lost) end));
  end loop;

  -- An instance whose heartbeat is late may hold the job, or be the only one that could take it.
  for r in
    select i.id, i.name, clock_timestamp() - i.heartbeat_at as silent, i.lag, i.stop, i.heartbeat_at < clock_timestamp() - i.lag / 2 as late
      from bellhop.instance i
     where i.state = 'live' and (j.instance = i.id and is_at in ('assigned', 'running') or is_at = 'ready')
       and (i.stop is not null or i.xmax <> '0' or i.heartbeat_at < clock_timestamp() - i.lag / 2)
  loop
    if r.late and h.cause is distinct from 'instance_silent' then
      return query select * from bellhop.reason('instance_silent/one', jsonb_build_object('instance', r.id, 'name', r.name, 'for', bellhop.lasting(r.silent), 'lag', bellhop.lasting(r.lag)));
    end if;
    -- Its row is locked: the row's xmax is the transaction that locked it, and a heartbeat would be over sooner.
    return query select x.code, x.sentence, x.next
      from bellhop.instance i join pg_locks l on l.locktype = 'transactionid' and l.granted and l.transactionid = i.xmax
      join pg_stat_activity a on a.pid = l.pid and a.xact_start < clock_timestamp() - interval '1 s'
     cross join lateral bellhop.reason('instance_held', jsonb_build_object('pid', l.pid, 'who', coalesce(nullif(a.application_name, ''), a.usename, '?'),
       'instance', r.id, 'name', r.name, 'since', bellhop.since(a.xact_start))) x
     where i.id = r.id;
    if r.stop is not null and h.cause is distinct from 'instance_stopping' then
      return query select * from bellhop.reason('instance_stopping/one', jsonb_build_object('instance', r.id, 'name', r.name, 'how', r.stop));
    end if;
  end loop;
end
$$;

-- explain: the same as text.
-- Grant: submitter reader scheduler
create or replace function bellhop.explain(id bigint) returns text
language sql stable security invoker
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select format('job %s (%s) %s', j.id, j.type, bellhop.predicate(j.state))
      || case when j.state = 'ready' and (select e.code ~ '^lock_' from bellhop.explanation(j.id) with ordinality e (code, sentence, next, n) order by e.n limit 1)
              then ', and waits for a lock' else '' end
      || coalesce((select string_agg(format(e'\n  %s: %s\n    -> %s', e.code, e.sentence, e.next), '' order by n)
                     from bellhop.explanation(j.id) with ordinality e (code, sentence, next, n)), '')
    from bellhop.job j
   where j.id = explain.id
$$;
