-- Where jobs may run, what operators order, and why a job waits.

-- Jobs that name a place are in an index of their own: those for a host that is
-- away are in nobody's way, and jobs that name none pay nothing for it.
drop index bellhop.jobqueue_ready;
create index jobqueue_ready on bellhop.jobqueue (type, priority, id) where state = 'ready' and not held and run_on is null;
create index jobqueue_pinned on bellhop.jobqueue (type, run_on, priority, id) where state = 'ready' and not held and run_on is not null;

-- killjob: which command killed the job. NULL for nearly every row, and then no byte of it.
alter table bellhop.jobqueue add column killed_by text;

-- shutdown: what an instance has been told to do, and by which command.
alter table bellhop.instance add column stop text check (stop in ('finish', 'now'));
-- What is paused, where every claim looks anyway: bellhop.paused, for instances that live.
alter table bellhop.instance add column paused text[] not null default '{}';

-- What has been paused: a type, or everything under the empty name.
create table bellhop.paused (
  type      text        primary key,
  paused_at timestamptz not null default clock_timestamp(),
  paused_by text        not null default session_user
);

-- Where the user's own query (`locate`) sees locality keys, for the ones that wait. Told again with each look: hence unlogged.
create unlogged table bellhop.located (
  instance bigint not null,
  key      text   not null,
  hosts    text[] not null,
  error    text,
  at       timestamptz not null default clock_timestamp(),
  primary key (instance, key)
);

create or replace view bellhop.job as
  select id, type, state, held, priority, priority_name, key, run_on, attempt, max_attempts, deaths, fence, host, child, instance,
         created_at, run_at, started_at, attempt_at, ended_at, exit_code, error, waiting_for, cancel_requested, on_failure, locks, reasons, (msq is not null) as is_msq,
         items_total, items_done, items_failed, traceparent, successes
    from bellhop.jobqueue;

-- answers: whether a host that serves these patterns answers to a locality key.
-- In a pattern * stands for any text and ? for one character.
create function bellhop.answers(host text, serves text[], key text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog
as $$
  select key = host or exists (
    select from unnest(serves) p
     where key like replace(replace(replace(replace(replace(p, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_'))
$$;

-- pause: nothing of a type starts any more (NULL: nothing at all). What runs goes on.
create function bellhop.pause(type text default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
begin
  insert into bellhop.paused (type) values (coalesce(pause.type, '')) on conflict do nothing;
  update bellhop.instance i set paused = (select array_agg(p.type) from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
end
$$;

-- resume: what was paused may start (NULL: everything). Returns whether it was paused.
create function bellhop.resume(type text default null) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  was boolean;
begin
  delete from bellhop.paused p where resume.type is null or p.type = resume.type;
  was := found;
  update bellhop.instance i set paused = (select coalesce(array_agg(p.type), '{}') from bellhop.paused p) where i.state = 'live';
  perform pg_notify('bellhop_due', '');
  perform bellhop.kick();
  return was;
end
$$;

-- killjob: as cancel, but the job ends failed: the user's wish, also when it
-- waits. Returns the state that it has now, NULL when there is no such job.
create function bellhop.killjob(id bigint, by text default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  was text;
  who text := coalesce(killjob.by, session_user);
begin
  -- The lock settles the race with a claim or an outcome.
  select j.state into was from bellhop.jobqueue j where j.id = killjob.id for update;
  if was in ('held', 'blocked', 'scheduled', 'ready', 'assigned') then
    update bellhop.jobqueue j
       set state = 'failed', ended_at = clock_timestamp(), waiting_for = null, cancel_requested = true, killed_by = who,
           error = 'killed: by ' || who || ', before it began'
     where j.id = killjob.id;
    if was = 'assigned' then
      perform pg_notify('bellhop_cancel', '');
    end if;
    perform bellhop.ended(array[killjob.id]); -- comes with 0009
    return 'failed';
  elsif was = 'running' then
    update bellhop.jobqueue j set cancel_requested = true, killed_by = who where j.id = killjob.id;
    perform pg_notify('bellhop_cancel', '');
  end if;
  return was;
end
$$;

-- stop: what instances are told to do. Only those that were there when it was
-- said: a command that lay in the queue ends nobody who came after it.
create function bellhop.stop_instances(name text, now boolean, said timestamptz) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  n integer;
begin
  update bellhop.instance i
     set stop = case when stop_instances.now then 'now' else coalesce(i.stop, 'finish') end
   where i.state = 'live' and i.started_at <= stop_instances.said
     and (stop_instances.name is null or i.name = stop_instances.name or i.id::text = stop_instances.name);
  get diagnostics n = row_count;
  perform pg_notify('bellhop_due', '');
  return n;
end
$$;

-- obey: carry out the commands that wait in the queue, the most urgent first.
-- Returns how many there were. Index: jobqueue_ready.
create function bellhop.obey(me bigint) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop
as $$
#variable_conflict use_column
declare
  c     record;
  words text[];
  rest  text;
  wrong text;
  done  text;
  n     integer := 0;
begin
  for c in
    select j.id, coalesce(j.args, '') as args, greatest(j.created_at, j.run_at) as said
      from bellhop.jobqueue j
     where j.type = 'command' and j.state = 'ready' and not j.held and j.run_on is null
       and (j.run_at is null or j.run_at <= clock_timestamp())
     order by j.priority, j.id
       for update skip locked
  loop
    words := regexp_split_to_array(btrim(c.args), '\s+');
    wrong := null;
    done := null;
    rest := words[2];
    if words[1] = 'shutdown' and rest = 'now' then
      rest := words[3];
    end if;
    if words[1] = 'shutdown' and cardinality(words) <= (case when words[2] = 'now' then 3 else 2 end) then
      if bellhop.stop_instances(rest, coalesce(words[2] = 'now', false), c.said) = 0 then
        wrong := coalesce('no live instance is called ' || rest || ': see bellhop instances', 'no instance was running when this was said');
      end if;
    elsif words[1] = 'killjob' and words[2] ~ '^\d{1,18}$' and cardinality(words) = 2 then
      if words[2]::bigint = c.id then
        wrong := 'a command cannot kill itself';
      else
        -- A final job: no change, as with cancel.
        done := bellhop.killjob(words[2]::bigint, 'command ' || c.id);
        if done is null then
          wrong := 'there is no job ' || words[2];
        elsif done in ('succeeded', 'failed', 'cancelled', 'quarantined') then
          done := 'job ' || words[2] || ' is ' || done;
        else
          done := 'job ' || words[2] || ' is asked to stop';
        end if;
      end if;
    elsif words[1] = 'pause' and cardinality(words) <= 2 then
      perform bellhop.pause(words[2]);
    elsif words[1] = 'resume' and cardinality(words) <= 2 then
      if words[2] is not null and exists (select from bellhop.paused p where p.type = '') then
        wrong := 'everything is paused: say resume without a type first';
      elsif not bellhop.resume(words[2]) then
        done := 'nothing was paused';
      end if;
    else
      wrong := format('unknown command %L: it is one of shutdown [INSTANCE], shutdown now [INSTANCE], killjob N, pause [TYPE], resume [TYPE]', c.args);
    end if;
    -- The way of every job, in one transaction.
    update bellhop.jobqueue j
       set state = 'running', fence = j.fence + 1, attempt = j.attempt + 1, instance = me, waiting_for = null,
           attempt_at = case when j.started_at is not null then clock_timestamp() end, started_at = coalesce(j.started_at, clock_timestamp())
     where j.id = c.id;
    update bellhop.jobqueue j
       set state = case when wrong is null then 'succeeded' else 'failed' end, ended_at = clock_timestamp(),
           exit_code = case when wrong is null then 0 else 1 end, error = wrong
     where j.id = c.id;
    insert into bellhop.log (job, attempt, level, line)
    select j.id, j.attempt, 'note', coalesce(wrong, done, 'done: ' || c.args) from bellhop.jobqueue j where j.id = c.id;
    perform bellhop.ended(array[c.id]);
    n := n + 1;
  end loop;
  return n;
end
$$;

revoke all on bellhop.paused, bellhop.located from public;
revoke all on function bellhop.answers, bellhop.pause, bellhop.resume, bellhop.killjob, bellhop.stop_instances, bellhop.obey from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_scheduler') then
    grant select, insert, update, delete on bellhop.paused, bellhop.located to bellhop_scheduler;
    grant execute on function bellhop.answers, bellhop.pause, bellhop.resume, bellhop.killjob, bellhop.stop_instances, bellhop.obey to bellhop_scheduler;
    grant select on bellhop.paused, bellhop.located to bellhop_reader;
    grant execute on function bellhop.answers to bellhop_reader;
    grant execute on function bellhop.pause, bellhop.resume, bellhop.killjob to bellhop_operator;
  end if;
end
$$;
