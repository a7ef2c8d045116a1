-- promise: promises that a job has ended with success by a time, and has the promise watched: LISTEN bellhop_promise hears
-- of a danger and of the outcome. The other values are what was foretold; without them the next look foretells it. A new
-- promise takes the place of an older one. Its submitter may call this, and operators. Returns the job.
-- Grant: submitter operator scheduler
create or replace function bellhop.promise(job bigint, by timestamptz, starts timestamptz default null, ends timestamptz default null,
  latest timestamptz default null, certainty real default null) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  is_at text;
begin
  if not bellhop.refuse_others(promise.job, 'promise') then
    raise no_data_found using message = format('there is no job %s', coalesce(promise.job::text, 'NULL'));
  end if;
  if promise.by is null or not isfinite(promise.by) or promise.by <= clock_timestamp() then
    raise invalid_parameter_value using message = format('by is %s: a job is promised by a time to come', coalesce(promise.by::text, 'NULL')),
      hint = 'Name a later time: select bellhop.promise(42, now() + interval ''1 hour'')';
  end if;
  select q.state into is_at from bellhop.jobqueue q where q.id = promise.job for key share;
  if is_at in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    raise object_not_in_prerequisite_state using message = format('job %s is %s: nothing is left to promise', promise.job, is_at),
      hint = format('To run it again: bellhop retry %s', promise.job);
  end if;
  insert into bellhop.promise (job, by, starts, ends, latest, certainty)
  values (promise.job, promise.by, promise.starts, promise.ends, promise.latest, promise.certainty)
  on conflict (job) do update set by = excluded.by, asked_at = excluded.asked_at, starts = excluded.starts, ends = excluded.ends,
    latest = excluded.latest, certainty = excluded.certainty, danger_at = null, why = null, outcome = null, decided_at = null;
  perform bellhop.changed('promise', 'job', promise.job::text, 'by ' || bellhop.clock(promise.by));
  return promise.job;
end
$$;

-- promises_settle: decides the open promises whose jobs have ended, were deleted, or are late, and tells of them. A job
-- that was cancelled or deleted makes its promise void. Index: promise_open; the queue's primary key.
-- Grant: scheduler
create or replace function bellhop.promises_settle() returns table (job bigint, by timestamptz, what text, why text)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  with gone as (
    delete from bellhop.promise p where p.decided_at < clock_timestamp() - interval '1 hour'
       and not exists (select from bellhop.jobqueue j where j.id = p.job)
  ), open as materialized (
    select p.job, p.by from bellhop.promise p where p.outcome is null order by p.job for update skip locked
  ), seen as (
    select o.job, case when j.id is null or j.state = 'cancelled' then 'void'
                       when j.state = 'succeeded' and j.ended_at <= o.by then 'kept'
                       when j.state in ('failed', 'quarantined') or greatest(j.ended_at, clock_timestamp()) > o.by then 'missed' end as what,
           case when j.id is null then 'the job was deleted' when j.state in ('cancelled', 'failed', 'quarantined') then 'the job ended ' || j.state
                when j.state = 'succeeded' then 'it ended at ' || bellhop.clock(j.ended_at)
                else 'it had not ended, and was ' || j.state end as why
      from open o left join bellhop.jobqueue j on j.id = o.job
  ), over as (
    update bellhop.promise p set outcome = s.what, why = s.why, decided_at = clock_timestamp()
      from seen s where p.job = s.job and s.what is not null
    returning p.job, p.by, p.outcome, p.why
  )
  select o.job, o.by, o.outcome, o.why
    from over o cross join lateral (select pg_notify('bellhop_promise', json_build_object('job', o.job, 'by', o.by, 'what', o.outcome, 'why', o.why)::text)) n
$$;

-- promise_danger: a forecast passes an open promise (danger), or keeps it again. Returns whether that is news, which one
-- instance tells. Index: promise's primary key.
-- Grant: scheduler
create or replace function bellhop.promise_danger(job bigint, danger boolean, why text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  due timestamptz;
begin
  update bellhop.promise p set danger_at = case when promise_danger.danger then clock_timestamp() end, why = case when promise_danger.danger then promise_danger.why end
   where p.job = promise_danger.job and p.outcome is null and (p.danger_at is not null) <> promise_danger.danger
  returning p.by into due;
  if due is null then
    return false;
  end if;
  perform pg_notify('bellhop_promise', json_build_object('job', promise_danger.job, 'by', due,
    'what', case when promise_danger.danger then 'in_danger' else 'safe' end, 'why', left(promise_danger.why, 2000))::text);
  return true;
end
$$;
