-- obey: carries out the commands that wait in the queue, the most urgent first. Returns how many there were. Index:
-- jobqueue_ready. It passes over jobs that another transaction has locked: else every other command would wait with them.
-- Grant: scheduler
create or replace function bellhop.obey(me bigint) returns integer
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
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
     where j.type = 'command' and j.state = 'ready' and not j.held and j.run_on is null and j.locks is null and j.share is null
       and j.unmet is null and (j.run_at is null or j.run_at <= clock_timestamp())
       and not exists (select from bellhop.dependency d where d.job = j.id and not d.counted)
     order by j.priority, j.id
       for update skip locked
  loop
    words := regexp_split_to_array(btrim(c.args), e'\\s+');
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
    elsif words[1] = 'killjob' and words[2] ~ e'^\\d{1,18}$' and cardinality(words) = 2 then
      if words[2]::bigint = c.id then
        wrong := 'a command cannot kill itself';
      else
        -- A final job is not changed, as with cancel.
        begin
          perform from bellhop.jobqueue j where j.id = words[2]::bigint for update nowait;
          done := bellhop.killjob(words[2]::bigint, 'command ' || c.id);
        exception when lock_not_available then
          continue; -- another transaction has locked that job: this command waits, and no other with it
        when object_not_in_prerequisite_state then
          wrong := sqlerrm;
          done := 'refused';
        end;
        if done is null then
          wrong := 'there is no job ' || words[2];
        elsif done in ('succeeded', 'failed', 'cancelled', 'quarantined') then
          done := 'job ' || words[2] || ' ' || bellhop.predicate(done);
        else
          done := 'job ' || words[2] || ' was asked to stop';
        end if;
      end if;
    elsif words[1] = 'pause' and cardinality(words) <= 2 then
      perform bellhop.pause_type(words[2]);
    elsif words[1] = 'resume' and cardinality(words) <= 2 then
      if words[2] is not null and exists (select from bellhop.paused p where p.type = '') then
        wrong := 'everything is paused: say resume without a type first';
      elsif not bellhop.resume_type(words[2]) then
        done := 'nothing was paused';
      end if;
    else
      wrong := format('unknown command %L: it is one of shutdown [INSTANCE], shutdown now [INSTANCE], killjob N, pause [TYPE], resume [TYPE]', c.args);
    end if;
    -- Takes the way of every job, in one transaction.
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
