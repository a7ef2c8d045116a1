-- Sealed jobs (../../docs/encryption.md): the database sees envelopes, and knows of keys only their names.

-- lacks_key: the worker that has this job cannot open it. It rests for as long as it has been there, from 10 s to 10 min,
-- and no attempt is counted: the key may come, or another worker or an instance may have it. Returns when the job is due
-- again; NULL: it was cancelled. A run that was replaced raises BH004. Index: the primary key.
-- Grant: worker scheduler
create or replace function bellhop.lacks_key(job bigint, fence bigint, key text) returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  j  bellhop.jobqueue := bellhop.own_run(lacks_key.job, lacks_key.fence);
  at timestamptz;
begin
  if j.instance is distinct from 0 then
    raise object_not_in_prerequisite_state using message = format('job %s was not taken: instance %s runs it, and opens it itself', lacks_key.job, j.instance);
  elsif lacks_key.key !~ '^[A-Za-z0-9._-]{1,64}$' or lacks_key.key is null then
    raise invalid_parameter_value using message = 'a key has a name of 1 to 64 letters, digits, dots, - and _';
  elsif j.cancel_requested then
    perform bellhop.end_badly(j, 'it was cancelled', null);
    return null;
  end if;
  at := clock_timestamp() + greatest(interval '10 s', least(interval '10 min', clock_timestamp() - j.created_at));
  update bellhop.jobqueue q
     set state = 'scheduled', run_at = at, attempt = q.attempt - 1, instance = null, host = null, child = null, attempt_at = null,
         started_at = case when q.attempt = 1 then null else q.started_at end, lease_until = null, progress = null, progress_text = null,
         waiting_for = format('no_key: sealed with key %s, which the worker %s lacks', lacks_key.key, bellhop.caller())
   where q.id = j.id;
  perform pg_notify('bellhop_due', '');
  return at;
end
$$;

-- wake_sealed: makes due the jobs that wait for one of these keys. Rows that another transaction has locked are left: they
-- become due by themselves. Returns how many. Index: jobqueue_parked, the rows that are scheduled.
-- Grant: scheduler
create or replace function bellhop.wake_sealed(keys text[]) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  n integer;
begin
  update bellhop.jobqueue j
     set run_at = clock_timestamp()
   where j.id = any (array(
           select q.id from bellhop.jobqueue q
            where q.state = 'scheduled' and q.waiting_for like e'no\\_key: %' and bellhop.key_wanted(q.waiting_for) = any (wake_sealed.keys)
              for update skip locked));
  get diagnostics n = row_count;
  if n > 0 then
    perform pg_notify('bellhop_due', '');
  end if;
  return n;
end
$$;

-- key_wanted: the key for which a job waits, by its waiting_for.
-- Grant: submitter reader worker scheduler
create or replace function bellhop.key_wanted(waiting_for text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select substring(key_wanted.waiting_for from '^no_key: sealed with key ([A-Za-z0-9._-]+)') $$;

-- is_sealed: whether a text is an envelope, by how it begins.
-- Grant: scheduler
create or replace function bellhop.is_sealed(text text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select coalesce(is_sealed.text like 'bellhop:sealed:%', false) $$;

-- refuse_plain: an edit puts no plain text into a sealed job, but where the job has plain text: as its args, or as the
-- var of that name. The error does not repeat the text, since it is written to the server's log.
-- Grant: scheduler
create or replace function bellhop.refuse_plain(job bigint, type text, old_args text, old_vars jsonb, new_args text, new_vars jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  place text; -- of a plain text that is not wanted
begin
  if new_args is null and new_vars is null
     or not bellhop.is_sealed(old_args) and not exists (select from jsonb_each_text(old_vars) o where bellhop.is_sealed(o.value)) then
    return;
  elsif new_args is not null and not bellhop.is_sealed(new_args) and (old_args is null or bellhop.is_sealed(old_args)) then
    place := 'args';
  else
    place := (select 'var ' || n.key from jsonb_each_text(case jsonb_typeof(new_vars) when 'object' then new_vars end) n
               where not bellhop.is_sealed(n.value) and (old_vars ->> n.key is null or bellhop.is_sealed(old_vars ->> n.key)) order by n.key limit 1);
  end if;
  if place is not null then
    raise check_violation using constraint = 'jobqueue_sealed', table = 'jobqueue', schema = 'bellhop',
      message = format('job %s is sealed, and its new %s would be plain text', refuse_plain.job, place),
      hint = format('Seal it with the key of the job: bellhop edit %s … --seal-with FILE. Or give an envelope: bellhop key seal %s%s --keys FILE', refuse_plain.job,
                    refuse_plain.type, case when place <> 'args' then ' vars.' || substr(place, 5) end);
  end if;
end
$$;
