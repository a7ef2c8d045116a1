-- Job filters: adding, replacing and deleting rules, and how that affects existing jobs. Jobs that come later meet
-- bellhop.filter_came, a trigger that exists while there are rules. Passes (scheduler/lock) decide about waiting jobs.

-- filter_reject: cancels a waiting job, since a rule says REJECT. Returns whether it did.
-- Grant: scheduler
create or replace function bellhop.filter_reject(job bigint, rule text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update bellhop.jobqueue j
     set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, unmet = null,
         error = format('filter_rejected: filter %s%s', rule, (select ': ' || nullif(f.reason, '') from bellhop.filter f where f.id = rule))
   where j.id = filter_reject.job and j.state in ('held', 'blocked', 'scheduled', 'ready');
  if not found then
    return false;
  end if;
  perform bellhop.ended(array[filter_reject.job]);
  return true;
end
$$;

-- filter_look: applies the rules to existing jobs. Rejected jobs are cancelled. Paused and limited jobs belong to the
-- passes from now on, running ones too, since they may be given back; and running jobs take places within their limit.
-- after: among waiting jobs, only rows that changed in this transaction or a later one, and that belong to no pass.
-- Indexes: none, it reads all jobs that are not over.
-- Grant: none
create or replace function bellhop.filter_look(after xid default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r record;
begin
  for r in
    select j.id, j.state, j.fence, j.instance, j.vars, j.share, j.locks is null as plain, f.id as rule, f.action
      from bellhop.jobqueue j
     cross join lateral bellhop.applying_filter(j) f
     where j.state in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running')
       and (after is null or j.state in ('assigned', 'running') or age(j.xmin) <= age(after) and j.locks is null)
       and f.action <> 'ACCEPT'
  loop
    if r.action = 'REJECT' then
      perform bellhop.filter_reject(r.id, r.rule);
      continue;
    elsif r.plain then
      update bellhop.jobqueue j set locks = '{}' where j.id = r.id and j.locks is null;
    end if;
    if r.state in ('assigned', 'running') and r.action ~ '^RATE_LIMIT [0-9]+( by .*)?$' then
      insert into bellhop.lock_grant (level, name, job, fence, mode, instance) values ('filter', bellhop.filter_place(r.rule, r.action, r.vars, r.share), r.id, r.fence, 'slot', r.instance)
      on conflict (level, name, job) do update set fence = excluded.fence, mode = excluded.mode, instance = excluded.instance, until = null;
    end if;
  end loop;
end
$$;

-- filter_trigger: creates the trigger while there are rules, and drops it with the last one. If it cannot be dropped at
-- once, it stays and finds no rules.
-- Grant: none
create or replace function bellhop.filter_trigger() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  there boolean := exists (select from pg_trigger t where t.tgrelid = 'bellhop.jobqueue'::regclass and t.tgname = '_030_filter');
begin
  if exists (select from bellhop.filter) then
    if not there then
      execute 'create trigger _030_filter after insert on bellhop.jobqueue
                 for each row when (new.type not in (''command'', ''dummy'')) execute function bellhop.filter_came()';
    end if;
  elsif there then
    begin
      execute 'drop trigger _030_filter on bellhop.jobqueue';
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end if;
end
$$;

-- filter_write: writes a rule, or deletes one (action NULL), and makes all jobs obey. Existing jobs are looked at
-- twice: first beside all writers, and then, while no transaction writes, only the jobs written in between. So the
-- queue stands still for a moment only. The next pass looks at all jobs that are parked behind a filter.
-- Locks: SHARE ROW EXCLUSIVE on the queue, to the end of the transaction; each try waits for it for 2 s.
-- Grant: none
create or replace function bellhop.filter_write(id text, action text, predicates jsonb, priority integer, reason text) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  given text := coalesce(filter_write.id, gen_random_uuid()::text);
  seen  xid;
  obey  boolean; -- any job may have to obey
begin
  for try in 1 .. 5 loop
    begin
      if filter_write.action is null then
        delete from bellhop.filter f where f.id = given;
        if not found then
          return null;
        end if;
      else
        insert into bellhop.filter as f (id, priority, watermark, predicates, action, reason, created_by)
        values (given, coalesce(filter_write.priority, 0), coalesce((select max(j.id) from bellhop.jobqueue j), 0), coalesce(filter_write.predicates, '[]'),
                filter_write.action, coalesce(filter_write.reason, ''), bellhop.actor())
        on conflict (id) do update
           set priority = excluded.priority, watermark = excluded.watermark, predicates = excluded.predicates, action = excluded.action,
               reason = excluded.reason, created_at = clock_timestamp(), created_by = excluded.created_by;
      end if;
      seen := pg_snapshot_xmin(pg_current_snapshot())::xid;
      obey := exists (select from bellhop.filter f where f.action in ('PAUSE', 'REJECT') or f.action like 'RATE_LIMIT %');
      if obey then
        perform bellhop.filter_look();
      end if;
      perform pg_advisory_xact_lock(7090192401229115394); -- "bellhop\2": a pass that has read the rules as they were ends first
      if obey then
        lock table bellhop.jobqueue in share row exclusive mode;
      end if;
      delete from bellhop.lock_grant g where g.level = 'filter' and g.until is null;
      if obey then
        perform bellhop.filter_look(seen);
      end if;
      perform bellhop.filter_trigger();
      update bellhop.jobqueue j set behind = null, waiting_for = null
       where j.state = 'ready' and not j.held and j.locks is not null
         and (starts_with(coalesce(j.behind, ''), 'filter:') or starts_with(coalesce(j.behind, ''), 'paused:'));
      -- So do parked jobs that do not wait for that alone any more: held, or with a time set. Index: jobqueue_parked.
      update bellhop.jobqueue j set behind = null
       where j.state in ('held', 'blocked', 'scheduled') and j.locks is not null
         and (starts_with(j.behind, 'filter:') or starts_with(j.behind, 'paused:'));
      perform pg_notify('bellhop', 'locks');
      return given;
    exception when lock_not_available or deadlock_detected then
      if try = 5 then
        raise lock_not_available using
          message = 'a transaction that is open has written to the queue: 5 times it was waited for, for 2 s each',
          hint = 'bellhop doctor shows transactions that are open for long. End it, and say this again.';
      end if;
    end;
  end loop;
end
$$;

-- filter_may: only operators change filters.
-- Grant: none
create or replace function bellhop.filter_may() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not bellhop.is_operator() then
    raise insufficient_privilege using
      message = format('permission denied: %s may not change filters', bellhop.caller()),
      hint = format('Filters are for operators: grant bellhop_operator to %I.', bellhop.caller());
  end if;
end
$$;

-- filter_place: the name under which a job counts for a limit (scheduler/lock/limit.go, Place).
-- Grant: none
create or replace function bellhop.filter_place(rule text, action text, vars jsonb, share text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select rule || coalesce(' ' || left(encode(sha256(convert_to(k.key, 'UTF8')), 'hex'), 32), '')
    from (select case when action ~ ' by vars[.]' then coalesce(vars ->> substring(action, ' by vars[.](.*)$'), '')
                      when action like '% by share' then coalesce(share, '') end as key) k
$$;

-- filter_check: refuses predicates and an action that are too long, or that cannot be read.
-- Grant: none
create or replace function bellhop.filter_check(action text, predicates jsonb, reason text default '') returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  p    jsonb;
  flaw text;
  ms   numeric;
begin
  if length(filter_check.action) > 100 or length(filter_check.reason) > 1000
     or jsonb_typeof(filter_check.predicates) = 'array' and jsonb_array_length(filter_check.predicates) > 100 then
    raise check_violation using constraint = 'filter_bounds',
      message = 'a filter has at most 100 predicates, 100 characters of action and 1000 of reason',
      hint = 'Write several filters.';
  end if;
  if filter_check.action is null
     or filter_check.action !~ e'^(ACCEPT|CONTINUE|PAUSE|REJECT|RATE_LIMIT [1-9][0-9]{0,8}( per ([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)?( by (share|vars\\.[A-Za-z_][A-Za-z0-9_]*))?)$' then
    raise check_violation using constraint = 'filter_action',
      message = coalesce(format('there is no action %L for a filter', filter_check.action), 'a filter needs an action'),
      hint = 'Write ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT 2, RATE_LIMIT 10 per 1m, or RATE_LIMIT 10 per 1m by vars.CUSTOMER or by share.';
  end if;
  ms := (select sum(m[1]::numeric * case m[2] when 'ns' then 0.000001 when 'ms' then 1 when 's' then 1000 when 'm' then 60000 when 'h' then 3600000 else 0.001 end)
           from regexp_matches(split_part(split_part(filter_check.action, ' per ', 2), ' by ', 1), '([0-9.]+)(ns|us|µs|ms|s|m|h)', 'g') m);
  if ms not between 1 and 876000 * 3600000.0 then
    raise check_violation using constraint = 'filter_action',
      message = format('%L: the time of a limit is from 1ms to 876000h, which is a hundred years', filter_check.action),
      hint = 'Write RATE_LIMIT 10 per 1m.';
  end if;
  for p in select e.p from jsonb_array_elements(coalesce(filter_check.predicates, '[]')) e (p) loop
    flaw := case when jsonb_typeof(p) <> 'array' or p ->> 0 is null or p ->> 0 not in ('jobid', 'opcode', 'reason') or jsonb_array_length(p) <> 2
                   then format('%s is not a valid predicate', p)
                 else bellhop.filter_flaw(p -> 1) end;
    if flaw is not null then
      raise check_violation using constraint = 'filter_predicates', message = format('predicate %s: %s', p, flaw),
        hint = 'Write ["jobid",E], ["opcode",E] or ["reason",E]; docs/locks.md has the expressions.';
    end if;
  end loop;
end
$$;

-- filter_add: adds a rule, and returns its id.
-- Grant: operator
create or replace function bellhop.filter_add(action text, predicates jsonb default '[]', priority integer default 0, reason text default '') returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  given text;
begin
  perform bellhop.filter_may(), bellhop.filter_check(filter_add.action, filter_add.predicates, filter_add.reason);
  given := bellhop.filter_write(null, filter_add.action, filter_add.predicates, filter_add.priority, filter_add.reason);
  perform bellhop.changed('filter add', 'filter', given, left(filter_add.action, 200));
  return given;
end
$$;

-- filter_replace: puts a rule in the place of the one with this id, or adds it under that id; it gets a new watermark.
-- Grant: operator
create or replace function bellhop.filter_replace(id text, action text, predicates jsonb default '[]', priority integer default 0, reason text default '') returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  given text;
begin
  if filter_replace.id is null then
    raise null_value_not_allowed using message = 'which filter? Its id is null';
  end if;
  perform bellhop.filter_may(), bellhop.filter_check(filter_replace.action, filter_replace.predicates, filter_replace.reason);
  given := bellhop.filter_write(filter_replace.id, filter_replace.action, filter_replace.predicates, filter_replace.priority, filter_replace.reason);
  perform bellhop.changed('filter replace', 'filter', given, left(filter_replace.action, 200));
  return given;
end
$$;

-- filter_delete: deletes a rule. Returns whether there was one.
-- Grant: operator
create or replace function bellhop.filter_delete(id text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bellhop.filter_may();
  if filter_delete.id is null or bellhop.filter_write(filter_delete.id, null, null, null, null) is null then
    return false;
  end if;
  perform bellhop.changed('filter delete', 'filter', filter_delete.id, 'deleted');
  return true;
end
$$;
