-- Locks, and reasons that are limits of a rate, are columns of the queue already, and nothing obeys them yet. A job that
-- asked for one would run beside those that it must not run beside, so it is refused, here and nowhere else: what brings
-- locks takes this file away, and the trigger with it. The WHEN keeps the function away from ordinary rows.
create or replace function bellhop.no_locks_yet() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.locks is not null and new.locks <> '{}' then
    raise check_violation using
      message = format('locks are not obeyed yet: a job with the lock %L would run beside those that it must not run beside', new.locks[1]),
      constraint = 'jobqueue_no_locks_yet', table = 'jobqueue', column = 'locks',
      hint = 'Leave locks out. What must not run at once: one type whose agent has max: 1 in bellhop.yaml, or jobs that need each other (submit --after).';
  end if;
  raise check_violation using
    message = 'limits of a rate are not obeyed yet: a job with such a reason would start as fast as any other',
    constraint = 'jobqueue_no_locks_yet', table = 'jobqueue', column = 'reasons',
    hint = 'Leave out reasons that begin with rate-limit. How many run at once: max of the agent in bellhop.yaml.';
end
$$;

create or replace trigger _010_no_locks_yet
  after insert or update of locks, reasons on bellhop.jobqueue
  for each row when (new.locks <> '{}' or new.reasons is not null and strpos('|' || array_to_string(new.reasons, '|'), '|rate-limit:') > 0)
  execute function bellhop.no_locks_yet();

revoke all on function bellhop.no_locks_yet from public;
