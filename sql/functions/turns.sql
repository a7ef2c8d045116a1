-- One turn of an attachment is one statement (queries/turn.sql), in three strokes:
--
--   turn_open                     bellhop's owner's rights   what is to be done
--   bellhop_attached.turn_…       the attacher's rights      does it in the user's table
--   turn_record                   bellhop's owner's rights   makes jobs of what was taken
--
-- The middle runs code of others: the function itself may have been replaced, and triggers, rules, policies and
-- expressions of the table run too. A deferred trigger runs after all three, and before PostgreSQL 18 with the rights
-- of the session's login. So the login has no rights but to call these, neither of our functions calls code of others,
-- and the results of the middle are checked again: forged ones gain no more than bellhop_operator has, which attaching
-- takes.

-- turn_trouble: why no turn can be taken at an attachment, whichever login takes it; NULL: nothing.
-- Grant: reader scheduler
create or replace function bellhop.turn_trouble(attachment bigint) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  a bellhop.attachment;
  p pg_proc;
begin
  select x.id, x.rel, x.turn, x.attached_by into a.id, a.rel, a.turn, a.attached_by from bellhop.attachment x where x.id = turn_trouble.attachment;
  select f.* into p from pg_proc f
   where f.pronamespace = 'bellhop_attached'::regnamespace and f.proname = a.turn
     and f.proargtypes = format('%s %s %s', 'pg_catalog.jsonb'::regtype::oid, 'int4'::regtype::oid, 'pg_catalog.text[]'::regtype::oid)::oidvector;
  if not exists (select from pg_class c where c.oid = a.rel::oid) then
    return 'its table was dropped (Detach it: bellhop detach)';
  elsif p.oid is null then
    return format('it has no function: that was dropped, or nothing has attached the table (As %s: bellhop attach %s)', a.attached_by, a.rel);
  elsif not p.prosecdef then
    return format('its function was altered, and has not the rights of its owner any more (As %s: bellhop attach %s)', a.attached_by, a.rel);
  elsif pg_get_userbyid(p.proowner) <> a.attached_by and exists (select from pg_roles r where r.rolname = a.attached_by) then
    return format('its function belongs to %s, and not to %s, which attached it (Detach it, and attach it again)', pg_get_userbyid(p.proowner), a.attached_by);
  end if;
  return null;
end
$$;

-- turns_apart: whether the login can do nothing worth having: code of others may run in its sessions.
-- Grant: scheduler
create or replace function bellhop.turns_apart(login name) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select not exists (
    select from pg_roles r
     where (r.rolname = turns_apart.login or r.rolname = 'bellhop_attach')
       and (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls
            or exists (select from pg_roles g where g.oid <> r.oid and g.rolname <> 'bellhop_attach' and pg_has_role(r.oid, g.oid, 'member'))
            -- Objects that code of others has left under the role made for it are nothing worth having.
            or r.rolname <> 'bellhop_attach' and exists (
                 select from pg_shdepend d
                  where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid and d.deptype = 'o'
                    and (d.dbid = 0 or d.dbid = (select b.oid from pg_database b where b.datname = current_database())))))
$$;

-- turn_stranger: a role whose code a turn of the attachment runs, and that cannot do by itself all that the login can;
-- NULL: there is none. It looks at the function's owner, the table's owner, and the owners of its partitions.
-- Grant: scheduler
create or replace function bellhop.turn_stranger(attachment bigint, login name) returns name
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select r.rolname
    from (select f.proowner as owner from bellhop.attachment a join pg_proc f on f.proname = a.turn and f.pronamespace = 'bellhop_attached'::regnamespace
           where a.id = turn_stranger.attachment
          union
          select c.relowner from bellhop.attachment a
           cross join lateral (select a.rel::oid union select p.relid::oid from pg_partition_tree(a.rel) p) p (rel)
            join pg_class c on c.oid = p.rel
           where a.id = turn_stranger.attachment) o
    join pg_roles r on r.oid = o.owner
    join pg_roles l on l.rolname = turn_stranger.login
   where not r.rolsuper and (l.rolsuper or not pg_has_role(r.oid, l.oid, 'usage'))
   order by r.rolname limit 1
$$;

-- turn_open_in: the work at an attachment now: outcomes to write (done: [{key, state, exit}]), and how many rows may be
-- taken (n), none of them in busy. No row if there is nothing to do, or another instance is at it.
-- Index: attached_live; attached's primary key; set_aside's.
-- Grant: none
create or replace function bellhop.turn_open_in(login name, id bigint) returns table (done jsonb, n integer, busy text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  a        bellhop.attachment;
  why      text;
  stranger name;
  places   integer; -- that are taken
  quick    integer; -- rows that have ended, and took hardly any time
  first    boolean; -- some were taken ahead
begin
  select * into a from bellhop.attachment x where x.id = turn_open_in.id for update skip locked;
  if not found then
    return;
  end if;
  if a.detached_at is not null and not exists (select from bellhop.attached x where x.attachment = a.id and x.live) then
    perform bellhop.forget_attachment(a.id); -- the rows that ran when it was detached are over
    return;
  end if;
  why := bellhop.turn_trouble(a.id);
  if why is not null then
    raise exception using errcode = 'BH001', message = why;
  end if;
  if not bellhop.turns_apart(login) then
    stranger := bellhop.turn_stranger(a.id, login);
    if stranger is not null then
      raise exception using errcode = 'BH002',
        message = format('code of %s would run in a session of %s, which may do more: that takes a login that may do nothing else', stranger, login),
        hint = 'bellhop doctor';
    end if;
  elsif not has_function_privilege(login, format('bellhop_attached.%I(jsonb, int4, text[])', a.turn), 'execute') then
    raise exception using errcode = 'BH001', message = format('%s may not call its function, which an earlier version has made', login),
      hint = format('As %s: bellhop attach %s; or, as a superuser: bellhop install roles', a.attached_by, a.rel);
  end if;
  perform set_config('lock_timeout', '2s', true); -- another transaction alters the table: that is not waited for
  select coalesce(jsonb_agg(jsonb_build_object('key', x.key, 'state', coalesce(j.state, 'cancelled'), 'exit', j.exit_code))
                    filter (where o.over and not o.later), '[]'),
         count(*) filter (where not o.over),
         coalesce(array_agg(x.key) filter (where not o.over or o.later), '{}'),
         count(*) filter (where not o.over and x.ahead is null), coalesce(bool_or(not o.over and x.ahead is not null), false),
         count(*) filter (where o.over and j.ended_at - coalesce(j.attempt_at, j.started_at) < interval '250 ms')
    into done, n, busy, places, first, quick
    from bellhop.attached x
    left join bellhop.jobqueue j on j.id = x.job
    left join bellhop.set_aside s on s.attachment = x.attachment and s.digest = x.digest and s.outcome
   cross join lateral (select j.id is null or j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'), coalesce(s.again_at > now(), false)) o (over, later)
   where x.attachment = a.id and x.live;
  -- Of quick rows, as many are taken ahead as end during four turns: so a slow row holds up few.
  n := case when a.pool > 0 then a.pool + least(4 * quick, bellhop.taken_ahead()) - n else 0 end;
  if a.detached_at is not null or (select count(*) from bellhop.set_aside s where s.attachment = a.id and s.again_at > now()) >= 1000 then
    n := 0;
  end if;
  if n > 0 then
    busy := busy || array(select s.key from bellhop.set_aside s where s.attachment = a.id and s.again_at > now() and not s.outcome);
    -- The same table was attached before, and runs from then are not over.
    busy := busy || array(select x.key from bellhop.attachment b join bellhop.attached x on x.attachment = b.id and x.live
                           where b.rel = a.rel and b.dispatch_column = a.dispatch_column and b.detached_at is not null);
    if exists (select from bellhop.attachment b join bellhop.attached x on x.attachment = b.id and x.live
                where b.rel = a.rel and b.dispatch_column = a.dispatch_column and b.detached_at is not null and b.key_columns <> a.key_columns) then
      n := 0; -- their keys tell nothing about ours
    end if;
  end if;
  n := greatest(n, 0);
  if n = 0 and done = '[]' and not (first and places < a.pool) and a.waiting_at > clock_timestamp() - interval '5 s' then
    return;
  end if;
  return next;
end
$$;

-- turn_open: the front of turn_open_in. It passes the login, not a role that is set: code of others may reset a role.
-- Grant: scheduler attach
create or replace function bellhop.turn_open(id bigint) returns table (done jsonb, n integer, busy text[])
language sql volatile security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select o.done, o.n, o.busy from bellhop.turn_open_in(session_user, id) o;
end;

-- turn_ends: the outcomes of these rows are written: they free their places. Returns how many there were, and how many
-- had succeeded. Indexes: attached's primary key; jobqueue's; set_aside's.
-- Grant: none
create or replace function bellhop.turn_ends(attachment bigint, digests bytea[], out ended integer, out good integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
  with over as (
    update bellhop.attached x set live = false
      from unnest(digests) d (digest)
     where x.attachment = turn_ends.attachment and x.digest = d.digest and x.live
       and not exists (select from bellhop.jobqueue j where j.id = x.job and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
    returning x.job, x.digest
  ), forgotten as (
    delete from bellhop.set_aside s using over o where s.attachment = turn_ends.attachment and s.digest = o.digest and s.outcome
  )
  select count(*), count(*) filter (where j.state = 'succeeded') into turn_ends.ended, good
    from over o left join bellhop.jobqueue j on j.id = o.job;
end
$$;

-- turn_takes: makes jobs of rows that were never taken before: so many may start, the others wait for a place. Returns
-- the rows that became jobs: a row that was taken before, and one whose key is that of another job, did not. Indexes:
-- attached's primary key; jobqueue_key.
-- Grant: none
create or replace function bellhop.turn_takes(a bellhop.attachment, places integer, whats text[], keys text[], lines text[], rows_ text[],
                                              out done integer[], out started integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
begin
  with asked as materialized (
    select t.o::integer as o, t.key, t.line, t.row_text, sha256(convert_to(t.key, 'UTF8')) as digest, bellhop.row_job_key(a.name, t.key) as called
      from unnest(whats, keys, lines, rows_) with ordinality t (what, key, line, row_text, o)
     where t.what = 'take'
  ), fresh as materialized (
    select q.*, row_number() over (order by q.o) <= places as starts
      from asked q where not exists (select from bellhop.attached x where x.attachment = a.id and x.digest = q.digest)
  ), made as (
    insert into bellhop.jobqueue as j (state, unmet, waiting_for, type, args, submitted_by, key)
    select case when f.starts then 'ready' else 'blocked' end, case when not f.starts then 1 end, case when not f.starts then 'pool_full' end,
           coalesce(a.type, 'attachment'), coalesce(f.line, translate(f.key, e'\n\r', '  ')), a.attached_by, f.called
      from fresh f order by f.o
    on conflict (key) where j.key is not null do nothing
    returning j.id, j.key
  ), known as (
    insert into bellhop.attached (attachment, digest, key, job, live, row_text, ahead)
    select a.id, k.digest, k.key, k.id, true, k.row_text, case when not k.starts then nextval('bellhop.row_order') end
      from (select distinct on (m.id) f.*, m.id from made m join fresh f on f.called = m.key order by m.id) k
     order by k.o
    returning digest, ahead
  )
  select coalesce(array_agg(f.o), '{}'), count(*) filter (where k.ahead is null) into done, started
    from known k join fresh f on f.digest = k.digest;
end
$$;

-- turn_record: records a turn, in the transaction that has changed the user's table: written outcomes free their
-- places, rows that were taken become ready jobs, rows that could not be marked are set aside for a while.
-- Index: attached's primary key; jobqueue's; set_aside's.
-- Grant: scheduler attach
create or replace function bellhop.turn_record(id bigint, whats text[], keys text[], lines text[], rows_ text[],
                                               out taken integer, out ended integer, out aside integer, out ahead integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  a        bellhop.attachment;
  running  integer; -- places that are taken
  open     integer; -- and those that were taken ahead, too
  freed    integer := 0;
  late     bigint;
  good     integer := 0;
  asks     integer; -- rows that ask to be run
  mark     bytea;
  known    bigint;
  was      bellhop.jobqueue;
  again    boolean := false;
  made     integer[] := '{}'; -- the rows that have become jobs
begin
  aside := 0;
  select * into a from bellhop.attachment x where x.id = turn_record.id for update;
  if not found then
    raise undefined_object using message = 'it is not attached';
  end if;
  select count(*) filter (where w = 'take') into taken from unnest(whats) w;
  select count(*) filter (where x.ahead is null), count(*) into running, open
    from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  if a.detached_at is not null and taken > 0 or taken > 0 and (a.pool = 0 or taken + open > a.pool + bellhop.taken_ahead())
     or (select count(distinct k) < taken or count(k) < taken from unnest(whats, keys) as t (w, k) where w = 'take') then
    raise data_exception using message = 'its function gave rows that it was not asked for';
  end if;

  if running < a.pool and open > running and a.detached_at is null then
    freed := bellhop.start_ahead(a.id, a.pool - running);
    running := running + freed;
    again := freed > 0;
  end if;

  select d.ended, d.good into ended, good
    from bellhop.turn_ends(a.id, array(select distinct sha256(convert_to(k, 'UTF8')) from unnest(whats, keys) t (w, k)
                                        where k is not null and (w = 'done' or w = 'refused' and a.detached_at is not null))) d;
  if taken > 0 then -- an INSERT of no row would ring too, and bring about the next turn
    select t.done, running + t.started into made, running from bellhop.turn_takes(a, a.pool - running, whats, keys, lines, rows_) t;
  end if;
  ahead := open - running + cardinality(made);

  for i in 1 .. coalesce(cardinality(whats), 0) loop
    continue when keys[i] is null or i = any (made) or whats[i] = 'done' or whats[i] = 'refused' and a.detached_at is not null;
    if whats[i] = 'waiting' then
      asks := least(substring(keys[i] from '^[0-9]{1,9}$')::integer, 10001);
      continue;
    end if;
    mark := sha256(convert_to(keys[i], 'UTF8'));
    if whats[i] in ('aside', 'refused') then
      aside := aside + 1;
      insert into bellhop.set_aside as s (attachment, digest, key, reason, again_at, outcome)
      values (a.id, mark, keys[i], left(coalesce(rows_[i], '?'), 500), now() + interval '5 s', whats[i] = 'refused')
      on conflict (attachment, digest) do update
         set reason = excluded.reason, outcome = excluded.outcome, times = s.times + 1,
             again_at = now() + least(interval '5 s' * 2 ^ least(s.times, 10), interval '5 min');
      continue;
    elsif whats[i] is distinct from 'take' then
      continue;
    end if;
    known := null;
    late := case when running >= a.pool then nextval('bellhop.row_order') end;
    running := running + case when late is null then 1 else 0 end;
    ahead := ahead + case when late is null then 0 else 1 end;
    select x.job into known from bellhop.attached x where x.attachment = a.id and x.digest = mark;
    select * into was from bellhop.jobqueue j where j.id = known for update;
    if found and was.state not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
      raise data_exception using message = 'its function gave rows that it was not asked for';
    elsif found then
      if was.attempt > 0 and was.started_at is not null then
        insert into bellhop.attempt_past (job, attempt, fence, host, child, started_at, ended_at, exit_code, error, successes, spawned_at)
        select was.id, was.attempt, was.fence, was.host, was.child, coalesce(was.attempt_at, was.started_at), was.ended_at,
               was.exit_code, was.error, was.successes, was.spawned_at
         where not exists (select from bellhop.attempt_past p where p.job = was.id and p.attempt = was.attempt);
      end if;
      update bellhop.jobqueue j
         set state = case when late is null then 'ready' else 'blocked' end, unmet = case when late is not null then 1 end, type = coalesce(a.type, 'attachment'), args = coalesce(lines[i], translate(keys[i], e'\n\r', '  ')),
             held = false, run_at = null, max_attempts = j.attempt + 1,
             ended_at = null, exit_code = null, error = null, reason = null, waiting_for = case when late is not null then 'pool_full' end, successes = null, instance = null, host = null, child = null,
             deaths = 0, cancel_requested = false, cancel_now = false, killed_by = null, ended_by = null, ended_as = null,
             items_total = null, items_done = null, items_failed = null, result = null, progress = null, progress_text = null
       where j.id = known;
      if was.stepped and was.state = 'succeeded' then -- else it goes on behind its last step, as after a retry
        delete from bellhop.saved_step s where s.job = known;
        delete from bellhop.awaits w where w.job = known;
      end if;
      perform bellhop.unwanted_remote(known);
      again := true;
    else
      known := null;
      -- A key that another submitter's job has does not keep the row from running.
      for try in 1 .. 3 loop
        insert into bellhop.jobqueue as j (state, unmet, waiting_for, type, args, submitted_by, key)
        values (case when late is null then 'ready' else 'blocked' end, case when late is not null then 1 end, case when late is not null then 'pool_full' end,
                coalesce(a.type, 'attachment'), coalesce(lines[i], translate(keys[i], e'\n\r', '  ')), a.attached_by,
                case try when 1 then bellhop.row_job_key(a.name, keys[i]) when 2 then bellhop.row_job_key(a.name, keys[i]) || '@' || a.id end)
        on conflict (key) where j.key is not null do nothing
        returning j.id into known;
        exit when known is not null;
      end loop;
    end if;
    insert into bellhop.attached as x (attachment, digest, key, job, live, row_text, ahead) values (a.id, mark, keys[i], known, true, rows_[i], late)
    on conflict (attachment, digest) do update set job = excluded.job, live = true, row_text = excluded.row_text, ahead = excluded.ahead;
  end loop;

  -- Rows that were set aside, had their turn again and did not fail, or that are gone.
  if exists (select from bellhop.set_aside s where s.attachment = a.id) then
    delete from bellhop.set_aside s
     where s.attachment = a.id and not s.outcome
       and (s.digest in (select sha256(convert_to(k, 'UTF8')) from unnest(whats, keys) t (w, k) where w = 'take')
            or s.again_at <= now() and taken + open < a.pool);
  end if;
  -- The instance that takes rows looks at the queue by itself. Other instances hear of jobs that came from an INSERT.
  -- They hear of older jobs only here, also when they are awake: they may look at new jobs alone.
  if again and (select count(*) from (select from bellhop.instance i where i.state = 'live' limit 2) x) > 1 then
    perform pg_notify('bellhop', '');
  end if;
  taken := taken + freed; -- the caller looks for both
  update bellhop.attachment x set state = 'ok', trouble = null, state_since = clock_timestamp() where x.id = a.id and x.state <> 'ok';
  update bellhop.attachment x
     set waiting = coalesce(asks, x.waiting), waiting_at = case when asks is not null then clock_timestamp() else x.waiting_at end,
         done = x.done + good, failed = x.failed + turn_record.ended - good,
         rate = case w.is when 'over' then (x.rate_ended + turn_record.ended) / extract(epoch from clock_timestamp() - x.rate_since) when 'on' then x.rate end,
         rate_since = case w.is when 'on' then x.rate_since else clock_timestamp() end,
         rate_ended = case w.is when 'on' then x.rate_ended + turn_record.ended else 0 end
    from (select case when a.rate_since > clock_timestamp() - interval '5 s' or turn_record.ended = 0 then 'on'
                      when a.rate_since > clock_timestamp() - interval '1 min' then 'over' else 'new' end as is) w
   where x.id = a.id and (turn_record.ended > 0 or asks is not null);
end
$$;

-- turn_failed: records why an attachment does not run. A detached one, whose outcomes cannot be written any more, is
-- forgotten once none of its runs is under way. An instance whose login is at fault leaves the attachment to another
-- that takes turns.
-- Grant: scheduler
create or replace function bellhop.turn_failed(id bigint, why text, login boolean default false) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from bellhop.attachment x where x.id = turn_failed.id and x.detached_at is not null)
     and not exists (select from bellhop.attached x join bellhop.jobqueue j on j.id = x.job
                      where x.attachment = turn_failed.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')) then
    perform bellhop.forget_attachment(turn_failed.id);
    return;
  end if;
  update bellhop.attachment x set state = 'broken', trouble = left(why, 1000), state_since = clock_timestamp()
   where x.id = turn_failed.id and (x.state, x.trouble) is distinct from ('broken', left(why, 1000))
     and (not login or x.state <> 'ok' or x.state_since < clock_timestamp() - interval '10 s'
          or (select count(*) from bellhop.instance i where i.state = 'live') < 2);
end
$$;

-- forget_attachment: deletes an attachment. The function belongs to its maker, and the schema that it is in, to us.
-- Grant: none
create or replace function bellhop.forget_attachment(id bigint) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  turn text;
begin
  delete from bellhop.attachment x where x.id = forget_attachment.id returning x.turn into turn;
  if turn is not null then
    execute format('drop function if exists bellhop_attached.%I(jsonb, int4, text[])', turn);
  end if;
  perform pg_notify('bellhop_due', '');
end
$$;

-- take_attached: instances of an earlier version took their turns with this, with the scheduler's own rights: now it
-- takes none.
-- Grant: scheduler
create or replace function bellhop.take_attached(id bigint, out taken integer, out ended integer)
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select 0, 0 $$;
