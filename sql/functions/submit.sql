-- Each element names a lock: "level:name=exclusive", "level:*=shared",
-- "level:?=shared", or "big". A name may hold any character: the level ends at the
-- first colon, the mode begins at the last =.
-- Grant: submitter scheduler
create or replace function bellhop.locks_ok(locks text[]) returns boolean
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(bool_and(coalesce(l, '') ~ '^(big|[A-Za-z0-9_-]+:.+=(exclusive|shared))$' and octet_length(l) <= 2100), true)
  from unnest(locks) l
$$;

-- priority_of: RJM's letters. a…z are −13…12 by the first letter, so n is 0;
-- digits come before letters.
-- Grant: submitter scheduler
create or replace function bellhop.priority_of(name text) returns smallint
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select (case when left(lower(name), 1) between 'a' and 'z' then ascii(lower(name)) - ascii('n') else -20 end)::smallint
$$;

-- submit_replace: a waiting job, whose row the caller has locked, gets other content and another time.
-- Grant: none
create or replace function bellhop.submit_replace(
  old bellhop.jobqueue, type text, args text, msq text, repeat text, vars jsonb, priority smallint, priority_name text,
  run_at timestamptz, max_attempts integer, timeout interval, share text
) returns void
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  if old.type is distinct from submit_replace.type collate "default" then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is that of job %s, which is of type %L, not %L', old.key, old.id, old.type, submit_replace.type),
      hint = 'A job that waits is replaced by one of the same type.';
  end if;
  update bellhop.jobqueue j
     set -- A run from before a crash had the old ones: it is not taken again (queries/reassert.sql).
         fence = case when j.locks is not null then j.fence else greatest(j.fence, (select e.floor from bellhop.era() e)) end,
         args = submit_replace.args, msq = submit_replace.msq, repeat = submit_replace.repeat, vars = submit_replace.vars,
         share = coalesce(submit_replace.share, bellhop.template_share(submit_replace.type, submit_replace.args, old.key, submit_replace.vars)),
         priority = submit_replace.priority, priority_name = submit_replace.priority_name, timeout = submit_replace.timeout,
         max_attempts = coalesce(submit_replace.max_attempts, 1), own_attempts = case when submit_replace.max_attempts is not null then true end,
         run_at = case when submit_replace.run_at > clock_timestamp() then submit_replace.run_at end,
         state = case when j.held then 'held' when j.unmet is not null then j.state
                      when submit_replace.run_at > clock_timestamp() then 'scheduled' else 'ready' end,
         behind = null, waiting_for = case when j.unmet is not null then j.waiting_for end
   where j.id = old.id;
  if old.stepped then -- they were steps of the old content
    delete from bellhop.saved_step s where s.job = old.id;
    delete from bellhop.awaits w where w.job = old.id;
  end if;
  perform bellhop.unwanted_remote(old.id);
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  if old.locks is not null then
    perform pg_notify('bellhop', 'locks');
  end if;
end
$$;

-- submit: adds a job and returns its id. Under a key that exists it returns the first id, if the content equals. once
-- says for how long a key is taken: 'ever'; 'open': while its job is not over; 'waiting': while that has not begun.
-- Once the key is not taken any more, the job that had it is called key#id. per makes a key of each period of that
-- length (days begin at midnight UTC, weeks on Monday). replace: a job that waits under the key gets the new content
-- and time. batch: the job of bellhop.batch that is to need this one.
-- Grant: submitter scheduler
create or replace function bellhop.submit(
  type text, args text default null, msq text default null, repeat text default null, run_on text default null,
  key text default null, priority integer default 0, priority_name text default null, run_at timestamptz default null,
  held boolean default false, vars jsonb default null, locks text[] default null, reasons text[] default null,
  max_attempts integer default null, timeout interval default null, on_failure text default 'fail',
  traceparent text default null, after bigint[] default null, after_keys text[] default null, wanted text[] default '{succeeded}',
  once text default 'ever', per interval default null, replace boolean default false,
  not_after timestamptz default null, batch bigint default null, share text default null
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  new_id bigint;
  old    bellhop.jobqueue;
  differ text[] := '{}';
  needs  bigint[] := '{}';
  names  text[];
begin
  if submit.once is null or submit.once not in ('ever', 'open', 'waiting') then
    raise check_violation using constraint = 'submit_once', message = format('once is %L', submit.once), hint = 'It is ever, open or waiting.';
  elsif submit.key is null and (submit.once <> 'ever' or submit.per is not null or submit.replace) then
    raise check_violation using constraint = 'submit_once', message = 'once, per and replace are about a key, and there is none', hint = 'Name one: key => ''nightly''.';
  elsif submit.per <= interval '0' or extract(month from submit.per) <> 0 or extract(year from submit.per) <> 0 then
    raise check_violation using constraint = 'submit_once', message = format('per is %s', submit.per), hint = 'It is so many days, hours, minutes or seconds, such as 1 day.';
  end if;
  if submit.replace and submit.once = 'ever' then
    submit.once := 'waiting';
  end if;
  if submit.per is not null then
    submit.key := submit.key || to_char(date_bin(submit.per, clock_timestamp(), timestamptz '2001-01-01 00:00:00+00') at time zone 'UTC', '@YYYY-MM-DD"T"HH24:MI:SS"Z"');
  end if;
  if submit.priority not between -20 and 19 then
    raise check_violation using constraint = 'jobqueue_priority_range', message = format('priority %s is out of range', submit.priority), hint = 'Priorities are -20 (first) to 19 (last); the default is 0.';
  end if;
  if submit.priority_name is not null then
    submit.priority := bellhop.priority_of(submit.priority_name);
  end if;
  loop
    insert into bellhop.jobqueue as j (type, args, msq, repeat, run_on, key, priority, priority_name, run_at, held, vars, locks, reasons,
                                       max_attempts, timeout, on_failure, traceparent, own_attempts, not_after, share)
    values (submit.type, submit.args, submit.msq, submit.repeat, submit.run_on, submit.key, submit.priority, submit.priority_name,
            submit.run_at, submit.held, submit.vars, submit.locks, submit.reasons, coalesce(submit.max_attempts, 1), submit.timeout,
            submit.on_failure, coalesce(submit.traceparent, nullif(current_setting('bellhop.traceparent', true), '')),
            case when submit.max_attempts is not null then true end, submit.not_after, submit.share)
    on conflict (key) where j.key is not null do nothing
    returning j.id into new_id;
    exit when new_id is not null or submit.once = 'ever';
    -- The lock settles the race with a claim, an outcome, and other submitters.
    select * into old from bellhop.jobqueue j where j.key = submit.key collate "default" for update;
    if found then
      exit when not (bellhop.owns(old.submitted_by) or bellhop.is_operator()); -- refused below
      if old.state in ('held', 'blocked', 'scheduled', 'ready') or submit.once = 'open' and old.state in ('assigned', 'running') then
        if submit.replace and old.state not in ('assigned', 'running') then
          perform bellhop.submit_replace(old, submit.type, submit.args, submit.msq, submit.repeat, submit.vars, submit.priority::smallint,
                                         submit.priority_name, submit.run_at, submit.max_attempts, submit.timeout, submit.share);
        end if;
        perform bellhop.batch_add(submit.batch, array[old.id]);
        return old.id;
      end if;
      update bellhop.jobqueue j set key = left(j.key, case when octet_length(j.key) > 2570 then 640 else 970 end) || '#' || j.id where j.id = old.id;
    end if;
  end loop;
  if submit.after is not null or submit.after_keys is not null then
    needs := array(select distinct x.id from (select unnest(submit.after) as id union all
                     select j.id from bellhop.jobqueue j where j.key = any (submit.after_keys collate "default")
                        and (bellhop.may_change(j.submitted_by) or bellhop.is_reader())) x where x.id is not null);
    names := array(select n from unnest(submit.after_keys) n where not exists (select from bellhop.jobqueue j where j.key = n collate "default"
                        and (bellhop.may_change(j.submitted_by) or bellhop.is_reader())));
    if names <> '{}' and new_id is not null then
      raise foreign_key_violation using message = format('there is no job with the key "%s", which the new one would need', names[1]),
        hint = 'Submit what is needed first.';
    elsif new_id = any (needs) then
      raise check_violation using constraint = 'dependency_no_cycle', table = 'dependency',
        message = case when new_id = any (submit.after) then format('a job cannot need itself: %s is the id of the new one', new_id)
                       else format('a job cannot need itself: %L is the key of the new one', submit.key) end,
        hint = 'Name a job that is there already: bellhop ls';
    end if;
  end if;
  if new_id is not null then
    if needs <> '{}' then
      insert into bellhop.dependency (job, needs, wanted) select new_id, n, submit.wanted from unnest(needs) n;
    end if;
    perform bellhop.batch_add(submit.batch, array[new_id]);
    return new_id;
  end if;

  -- The values under the arguments' own names are compared as the columns are, whatever collation the caller gave them.
  select * into strict old from bellhop.jobqueue j where j.key = submit.key collate "default";
  -- For another submitter's job, even the comparison of content would be a way to guess it. Old jobs have no recorded
  -- submitter: a caller with the same content gets their id, as before.
  if not (bellhop.owns(old.submitted_by) or bellhop.is_operator() or old.submitted_by is null) then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by a job that others have submitted', submit.key),
      hint = 'Submit with another key, or as the role that has submitted it (set role): a key belongs to its submitter, and to members of that role.';
  end if;
  if old.type          is distinct from submit.type collate "default"          then differ := differ || format('type %L, not %L', old.type, submit.type); end if;
  if old.args          is distinct from submit.args collate "default"          then differ := differ || format('args %L, not %L', old.args, submit.args); end if;
  if old.msq           is distinct from submit.msq collate "default"           then differ := differ || format('msq %L, not %L', old.msq, submit.msq); end if;
  if old.repeat        is distinct from submit.repeat collate "default"        then differ := differ || format('repeat %L, not %L', old.repeat, submit.repeat); end if;
  if old.run_on        is distinct from submit.run_on collate "default"        then differ := differ || format('run_on %L, not %L', old.run_on, submit.run_on); end if;
  -- The share of a job that came without one is its type's template's, which may have changed since.
  if submit.share is not null and old.share is distinct from submit.share collate "default" then differ := differ || format('share %L, not %L', old.share, submit.share); end if;
  if old.priority      is distinct from submit.priority      then differ := differ || format('priority %s, not %s', old.priority, submit.priority); end if;
  if old.vars          is distinct from submit.vars          then differ := differ || format('vars %s, not %s', old.vars, submit.vars); end if;
  if nullif(old.locks, '{}') is distinct from nullif(submit.locks, '{}') collate "default"         then differ := differ || format('locks %s, not %s', old.locks, submit.locks); end if;
  if old.on_failure    is distinct from submit.on_failure collate "default"    then differ := differ || format('on_failure %L, not %L', old.on_failure, submit.on_failure); end if;
  -- Its needs must be among those of the first job: others may have been added to that since. Needs that are gone were
  -- pruned.
  differ := differ || array(
    select case when d.job is null then format('no need of %s', bellhop.job_name(n.id))
                else format('need of %s as %s, not %s', bellhop.job_name(n.id), d.wanted, submit.wanted) end
      from unnest(needs) as n (id)
      left join bellhop.dependency d on d.job = old.id and d.needs = n.id
     where (d.job is null or d.wanted is distinct from submit.wanted)
       and exists (select from bellhop.jobqueue j where j.id = n.id)
     order by n.id);
  if differ <> '{}' and not (bellhop.owns(old.submitted_by) or bellhop.is_operator()) then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by a job with other content', submit.key), hint = 'Submit with another key.';
  elsif differ <> '{}' then
    raise unique_violation using constraint = 'jobqueue_key',
      message = format('key %L is taken by job %s with other content: it has %s', submit.key, old.id, array_to_string(differ, '; ')),
      hint = 'Submit with another key, or look at the job that has it: bellhop show ' || old.id;
  end if;
  perform bellhop.batch_add(submit.batch, array[old.id]);
  return old.id;
end
$$;
