-- Passes (sql/functions/locks.sql) look at jobs with locks, or with a rate limit among their reasons. The hot claims
-- leave out all jobs with locks: a limit alone makes locks an empty array. The bell rings for them in any case, with a
-- payload of its own, since an instance that is awake looks for them only when it is told. The WHEN keeps the function
-- away from ordinary rows.
-- Grant: none
create or replace function bellhop.locks_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.type in ('command', 'dummy') then
    raise check_violation using message = format('a job of type %s runs nothing that could need a lock', new.type),
      constraint = 'jobqueue_locks_well_formed', table = 'jobqueue', column = 'locks', hint = 'Leave locks out.';
  end if;
  if new.locks is null then
    update bellhop.jobqueue j set locks = '{}' where j.id = new.id and j.locks is null;
  elsif tg_op = 'UPDATE' then -- it waits behind one of its old locks
    update bellhop.jobqueue j set behind = null, waiting_for = case when j.state <> 'ready' then j.waiting_for end where j.id = new.id and j.behind is not null;
  end if;
  perform pg_notify('bellhop', 'locks');
  return null;
end
$$;

-- A database in which locks were refused has these names.
drop trigger if exists _010_no_locks_yet on bellhop.jobqueue;
drop function if exists bellhop.no_locks_yet();
create or replace trigger _010_locks_came
  after insert or update of locks, reasons on bellhop.jobqueue
  for each row when (new.locks is not null or new.reasons is not null and strpos('|' || array_to_string(new.reasons, '|'), '|rate-limit:') > 0)
  execute function bellhop.locks_came();
