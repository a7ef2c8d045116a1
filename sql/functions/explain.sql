-- explanation: everything that keeps a job from running, or how it ended and
-- why: a code each that stays the same, a sentence, and the command that would
-- change it. No row: there is no such job. docs/explain.md has all codes.
-- What agents said is shown to operators only, as in bellhop.log.
create or replace function bellhop.explanation(id bigint) returns table (code text, sentence text, next text)
language plpgsql stable security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  j        bellhop.jobqueue;
  r        record;
  why      text;
  rest     text;
  n        bigint;
  words    text;
  due      text;
  who      name := case when current_setting('role') = 'none' then session_user::text else current_setting('role') end;
  operator boolean;
begin
  select * into j from bellhop.jobqueue q where q.id = explanation.id;
  if not found then
    return;
  end if;
  operator := pg_has_role(who, (select relowner from pg_class where oid = 'bellhop.jobqueue'::regclass), 'member')
           or coalesce((select pg_has_role(who, p.oid, 'member') from pg_roles p where p.rolname = 'bellhop_operator'), false);

  if j.state = 'held' then
    code := 'held';
    sentence := 'It is held: it starts when somebody releases it.';
    next := 'bellhop release ' || j.id;
    return next;

  elsif j.state = 'blocked' then
    code := 'blocked';
    sentence := 'It waits for other jobs.';
    next := 'bellhop show ' || j.id;
    for r in select d.needs, d.wanted, q.state, q.type from bellhop.dependency d left join bellhop.jobqueue q on q.id = d.needs
              where d.job = j.id and not d.met order by d.needs limit 10
    loop
      sentence := format('It needs job %s (%s) to be %s; that one is %s.', r.needs, coalesce(r.type, 'deleted'), array_to_string(r.wanted, ' or '), coalesce(r.state, 'gone'));
      next := 'bellhop explain ' || r.needs;
      return next;
    end loop;
    if not found then
      return next;
    end if;

  elsif j.state = 'scheduled' then
    due := case when isfinite(j.run_at) then format('%s, in %s', j.run_at, date_trunc('second', greatest(j.run_at - clock_timestamp(), interval '0')))
                else j.run_at || ', which is never' end;
    if j.waiting_for = 'retry_delay' then
      code := 'retry_delay';
      sentence := format('Attempt %s of %s failed; the next one starts at %s: %s', j.attempt, j.max_attempts, due, coalesce(j.error, 'no reason given'));
      next := 'bellhop logs ' || j.id;
    else
      code := 'scheduled';
      sentence := format('It is to start at %s.', due);
      next := 'bellhop cancel ' || j.id;
    end if;
    return next;

  elsif j.state = 'ready' then
    why := case when j.type = 'command' then case when not exists (select from bellhop.instance i where i.state = 'live') then 'no_instance' end
                -- What its row says is newer where a host has just given it back.
                else coalesce(bellhop.why_waiting(j.type, j.run_on), case when j.waiting_for ~ '^(agent_fails|host_down): ' then j.waiting_for end) end;
    rest := nullif(substr(why, strpos(why, ': ') + 2), why);
    if why = 'no_instance' then
      code := 'no_instance';
      sentence := 'No instance of the scheduler is running on this database.';
      next := 'bellhop serve';
      return next;
    elsif why = 'paused' then
      code := 'paused';
      select string_agg(case when p.type = '' then 'Everything' else 'Type ' || p.type end || format(' is paused since %s by %s', date_trunc('second', p.paused_at), p.paused_by), '. ')
        into sentence from bellhop.paused p where p.type in ('', j.type);
      sentence := sentence || '.';
      next := case when exists (select from bellhop.paused p where p.type = '') then 'bellhop resume' else 'bellhop resume ' || j.type end;
      return next;
    elsif why = 'unknown_type' and j.type = 'attachment' then
      code := 'unknown_type';
      sentence := 'It is a row of an attached table with a command of its own, and no running instance obeys commands that stand in the database.';
      next := 'write commands_from_database: true into bellhop.yaml, and start bellhop serve anew';
      return next;
    elsif why = 'unknown_type' then
      code := 'unknown_type';
      sentence := format('No running instance has an agent of type %L.', j.type)
               || coalesce(' There are: ' || (select string_agg(distinct a.type, ', ') from bellhop.agent a join bellhop.instance i on i.id = a.instance where i.state = 'live') || '.', '');
      next := 'add it under agents in bellhop.yaml, and start bellhop serve anew';
      return next;
    elsif why like 'no_host%' then
      code := 'no_host';
      sentence := case when j.run_on is null then 'No instance that has its agent has a host.'
                       else format('No host answers to run_on %L', j.run_on) || coalesce(substring(rest from ' (\(locate: .*\))$'), '') || '.' end
               || coalesce(' There are: ' || (select string_agg(distinct h.name, ', ') from bellhop.host h join bellhop.instance i on i.id = h.instance where i.state = 'live') || '.', '');
      next := 'bellhop hosts';
      return next;
    elsif why like 'host_down%' then
      code := 'host_down';
      sentence := 'No host that it may run on can be reached: ' || rest || '.';
      next := 'bellhop hosts';
      return next;
    elsif why like 'agent_fails%' then
      code := 'agent_fails';
      sentence := 'Its agent does not come up; it is tried again after a while. Its last words, by host: ' || rest || '.';
      next := 'bellhop agents';
      return next;
    elsif why = 'no_room' then
      code := 'no_room';
      select string_agg(x.words, '; ') into words from (
        select format('%s on %s is %s%s for %s', c.name, c.host, c.state, coalesce(' (job ' || c.job || ')', ''), date_trunc('second', clock_timestamp() - c.since)) as words
          from bellhop.instance i join bellhop.host h on h.instance = i.id join bellhop.child c on c.instance = h.instance and c.host = h.name
         where i.state = 'live' and c.state not in ('FREE', 'FAIL') and (j.run_on is null or bellhop.answers(h.name, h.serves, j.run_on))
         order by c.since limit 5) x;
      sentence := 'Every place that it may take is taken: ' || coalesce(words, 'there are no slots') || '. A child of another type goes when it has had nothing to do for limits.min_ready.';
      next := 'more slots, max or max_per_host in bellhop.yaml; or a lower priority number: bellhop ls -s running';
      return next;
    end if;
    if why is null or why = 'no_room' then
      select count(*) into n from (
        select from bellhop.jobqueue q
         where q.type = j.type and q.state = 'ready' and not q.held and q.run_on is null and (q.priority, q.id) < (j.priority, j.id)
         limit 10000) x;
      if n > 0 then
        code := 'queued';
        sentence := format('%s of its type %s first, by priority and age.', case when n = 10000 then 'At least 10000 jobs' when n = 1 then '1 job' else n || ' jobs' end, case when n = 1 then 'comes' else 'come' end);
        next := 'bellhop ls -s ready -t ' || j.type;
        return next;
      end if;
    end if;
    if why is null and j.waiting_for is not null and j.waiting_for not in ('no_room', 'paused', 'unknown_type', 'no_instance')
       and j.waiting_for !~ '^no_host' then
      code := 'waits';
      sentence := 'It waits for: ' || j.waiting_for || '.';
      next := 'bellhop show ' || j.id;
      return next;
    elsif why is null and coalesce(n, 0) = 0 then
      code := 'not_looked_at';
      sentence := format('Nothing holds it back: it has been ready for %s, and an instance looks within 5 s even if no bell has rung.',
                         date_trunc('second', clock_timestamp() - greatest(j.created_at, j.run_at)));
      next := 'bellhop kick';
      return next;
    end if;

  elsif j.state in ('assigned', 'running') then
    if j.state = 'assigned' then
      code := 'child_starting';
      sentence := format('Instance %s has it: a child of its type is coming up on %s.', j.instance, j.host);
      next := 'bellhop agents';
    else
      code := 'running';
      select format(' by %s, pid %s', c.name, c.pid) into words from bellhop.child c where c.instance = j.instance and c.job = j.id and j.msq is null limit 1;
      sentence := format('It runs since %s (%s) on %s%s, instance %s, attempt %s of %s', date_trunc('second', coalesce(j.attempt_at, j.started_at)),
                         date_trunc('second', clock_timestamp() - coalesce(j.attempt_at, j.started_at)), j.host, coalesce(words, ''), j.instance, j.attempt, j.max_attempts)
               || case when j.msq is null then '.' else format('; items done %s, failed %s, of %s.', coalesce(j.items_done, 0), coalesce(j.items_failed, 0), coalesce(j.items_total::text, 'not known yet')) end;
      next := 'bellhop logs -f ' || j.id;
    end if;
    return next;
    if j.msq is not null and exists (select from bellhop.paused p where p.type in ('', j.type)) then
      code := 'paused';
      sentence := 'Its type is paused: no more of its items start.';
      next := case when exists (select from bellhop.paused p where p.type = '') then 'bellhop resume' else 'bellhop resume ' || j.type end;
      return next;
    end if;
    if j.cancel_requested then
      code := 'cancel_requested';
      sentence := case when j.killed_by is not null then 'It has been killed (by ' || j.killed_by || ')' else 'It has been asked to stop' end
               || ': it is over when its last process is dead.';
      next := 'bellhop cancel --now ' || j.id;
      return next;
    end if;

  else
    if j.state = 'succeeded' then
      code := 'succeeded';
      sentence := 'It is done.' || case when j.items_total is not null then format(' Items: %s.', j.items_total) else '' end;
      next := 'bellhop retry ' || j.id;
    elsif j.state = 'cancelled' then
      code := 'cancelled';
      sentence := 'Somebody has cancelled it.';
      next := 'bellhop retry ' || j.id;
    elsif j.state = 'quarantined' then
      code := 'quarantined';
      sentence := format('%s agents have died of it, and no more shall: %s', j.deaths, coalesce(j.error, 'no last words'));
      next := 'bellhop logs -e ' || j.id;
    elsif j.killed_by is not null and j.error like 'killed: %' then
      code := 'killed';
      sentence := 'It was killed by the wish of a user: ' || j.killed_by || '.';
      next := 'bellhop retry ' || j.id;
    elsif j.error like 'timeout: %' then
      code := 'timeout';
      sentence := 'It took longer than it may, and was ended: ' || substr(j.error, 10) || '.';
      next := 'give it a longer timeout, then: bellhop retry ' || j.id;
    elsif j.error ~ '^(msq_error|no_columns): ' then
      code := 'msq_error';
      sentence := 'PostgreSQL refuses its query: ' || substr(j.error, strpos(j.error, ': ') + 2);
      next := 'bellhop show ' || j.id;
    elsif j.error ~ '^(items_failed|too_many_failures): ' then
      code := 'items_failed';
      sentence := format('%s of its items failed, %s are done.', j.items_failed, j.items_done)
               || coalesce(' The first: ' || (select format('item %s: %s', i.item, i.error) from bellhop.item i where i.job = j.id and operator order by i.fence desc, i.item limit 1), '');
      next := 'bellhop show ' || j.id;
    elsif j.error like 'no_progress: %' then
      code := 'no_progress';
      sentence := 'Its query would have run for ever: ' || substr(j.error, 14) || '.';
      next := 'bellhop show ' || j.id;
    elsif j.error like 'needs_failed%' or j.attempt = 0 and j.type <> 'command' then
      code := 'needs_failed';
      sentence := 'It never ran: ' || coalesce(j.error, 'a job that it needs did not end as wanted') || '.';
      next := 'bellhop show ' || j.id;
    elsif j.type = 'command' then
      code := 'command_failed';
      sentence := 'The command was not carried out: ' || coalesce(j.error, 'no reason given') || '.';
      next := 'bellhop submit command --help';
    elsif j.deaths > 0 then
      code := 'agent_died';
      sentence := format('Its agent died with it in hand, exit code %s: %s', coalesce(j.exit_code::text, 'none'), coalesce(j.error, 'no last words'));
      next := 'bellhop logs -e ' || j.id;
    else
      code := 'agent_failed';
      sentence := format('Its agent failed, exit code %s: %s', coalesce(j.exit_code::text, 'none'), coalesce(j.error, 'no reason given'));
      next := 'bellhop logs -e ' || j.id;
    end if;
    return next;
    if j.attempt > 0 and j.started_at is not null then
      code := 'ran_on';
      sentence := format('Attempt %s of %s, on %s%s, from %s to %s (%s).', j.attempt, j.max_attempts, coalesce(j.host, 'no host'), coalesce(' by ' || j.child, ''),
                         date_trunc('milliseconds', coalesce(j.attempt_at, j.started_at)), date_trunc('milliseconds', j.ended_at),
                         date_trunc('milliseconds', j.ended_at - coalesce(j.attempt_at, j.started_at)));
      next := 'bellhop show ' || j.id;
      return next;
    end if;
    if operator and j.state <> 'succeeded' then
      select string_agg(x.line, e'\n    ' order by x.id) into words from (
        select l.id, l.line from bellhop.log l
         where l.job = j.id and l.level in ('err', 'error', 'note') and l.attempt is not distinct from nullif(j.attempt, 0)
         order by l.id desc limit 5) x;
      if words is not null then
        code := 'last_words';
        sentence := e'The last that was said:\n    ' || words;
        next := 'bellhop logs -e ' || j.id;
        return next;
      end if;
    end if;
  end if;

  -- An instance that nobody has heard of for a while may hold it, or be the only one that could take it.
  for r in
    select i.id, i.name, date_trunc('second', clock_timestamp() - i.heartbeat_at) as silent, i.lag, i.lag - (clock_timestamp() - i.heartbeat_at) as left
      from bellhop.instance i
     where i.state = 'live' and i.heartbeat_at < clock_timestamp() - i.lag / 2 and (j.instance = i.id or j.state = 'ready')
       and j.state in ('ready', 'assigned', 'running')
  loop
    code := 'instance_silent';
    sentence := format('Instance %s (%s) has not been heard of for %s; after %s it is taken for dead, and what it holds is given to others.', r.id, r.name, r.silent, r.lag);
    next := 'bellhop instances';
    return next;
  end loop;
  for r in
    select i.id, i.name, i.stop from bellhop.instance i
     where i.state = 'live' and i.stop is not null and (j.instance = i.id or j.state = 'ready') and j.state in ('ready', 'assigned', 'running')
  loop
    code := 'instance_stopping';
    sentence := format('Instance %s (%s) has been told to stop (%s), and starts nothing more.', r.id, r.name, r.stop);
    next := 'bellhop instances';
    return next;
  end loop;
end
$$;

-- explain: the same as text.
create or replace function bellhop.explain(id bigint) returns text
language sql stable security invoker
set search_path = pg_catalog, bellhop
as $$
  select format('job %s (%s) is %s', j.id, j.type, j.state)
      || coalesce((select string_agg(format(e'\n  %s: %s\n    -> %s', e.code, e.sentence, e.next), '' order by n)
                     from bellhop.explanation(j.id) with ordinality e (code, sentence, next, n)), '')
    from bellhop.job j
   where j.id = explain.id
$$;

revoke all on function bellhop.explanation, bellhop.explain from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant execute on function bellhop.explanation, bellhop.explain to bellhop_reader, bellhop_scheduler;
  end if;
end
$$;
