-- retry_behind: a job that is over gets a new attempt, and so do the jobs behind it: those that need it, directly or
-- through others, and are over. Their needs of one of these jobs do not count as met any more. Jobs behind it that wait
-- go on waiting, now for these again. Refused if a job behind it has begun, or may begin, with the earlier results.
-- Returns how many are tried again; NULL: no such job. All or none. Indexes: dependency_needs; the primary key.
-- Grant: operator scheduler
create or replace function bellhop.retry_behind(id bigint) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  most   constant integer := 1000;
  these  bigint[];
  todo   bigint[];
  next   bigint[];
  one    bigint;
  was    text;
  n      integer;
begin
  perform bellhop.refuse_but_operators('retry jobs and those behind them');
  select j.state into was from bellhop.jobqueue j where j.id = retry_behind.id;
  if was is null then
    return null;
  elsif was not in ('succeeded', 'failed', 'cancelled', 'quarantined') then
    raise object_not_in_prerequisite_state using message = format('job %s is %s: only a finished job gets a new attempt', retry_behind.id, was),
      hint = format('bellhop wait %s   or: bellhop cancel %1$s', retry_behind.id);
  end if;
  -- Without the dummy that ends a run, which goes by the run's steps (step_again), and without the next run, which
  -- waits for that dummy and not for a result.
  these := array(
    with recursive down (id) as (
      select retry_behind.id
      union
      select j.id from down b join bellhop.dependency d on d.needs = b.id join bellhop.jobqueue j on j.id = d.job
       where not (j.type = 'dummy' and j.run is not null and j.step is null)
    )
    select j.id from bellhop.jobqueue j
     where j.id = any (array(select w.id from down w limit most + 1))
     order by j.id for update);
  if cardinality(these) > most then
    raise program_limit_exceeded using message = format('more than %s jobs are behind job %s', most, retry_behind.id),
      hint = 'Retry those that failed, by a filter: bellhop retry -s failed -t TYPE';
  end if;
  select j.id, j.state into one, was from bellhop.jobqueue j
   where j.id = any (these) and (j.state in ('assigned', 'running') or j.state in ('held', 'scheduled', 'ready') and j.unmet is null)
   order by j.id limit 1;
  if found then
    raise object_not_in_prerequisite_state using message = format('job %s is %s, with what it has got from jobs that were to be tried again', one, was),
      hint = format('bellhop wait %s   or: bellhop cancel %1$s', one);
  end if;
  todo := array(select j.id from bellhop.jobqueue j where j.id = any (these) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined'));
  n := cardinality(todo);
  update bellhop.dependency d set met = false, counted = false where d.needs = any (todo) and d.job = any (these);
  while todo <> '{}' loop -- needed jobs come first: a job that found them over would be over at once
    next := array(select t from unnest(todo) t
                   where not exists (select from bellhop.dependency d where d.job = t and d.needs = any (todo)) order by t);
    if next = '{}' then
      raise object_not_in_prerequisite_state using message = 'these jobs need one another';
    end if;
    foreach one in array next loop
      perform bellhop.retry_job(one);
    end loop;
    todo := array(select t from unnest(todo) t where t <> all (next));
  end loop;
  next := array(select j.id from bellhop.jobqueue j
                 where j.id = any (these) and j.state in ('held', 'blocked')
                   and exists (select from bellhop.dependency d where d.job = j.id and not d.counted));
  if next <> '{}' then
    perform bellhop.ended(w.failed) from bellhop.resolve(next, false) w;
    perform pg_notify('bellhop_due', '');
  end if;
  perform bellhop.changed('behind', 'job', retry_behind.id::text, format('%s jobs to be tried again', n));
  return n;
end
$$;
