-- A job with a share that is ready, or ready again, puts its key into the line (sql/functions/shares.sql). It appends a
-- row, and locks nothing that others wait for. Rows of one key that come one after the other in a transaction append one.
-- The WHEN keeps the function away from all other rows. Without the trigger the safety scan finds the key.
-- Grant: none
create or replace function bellhop.share_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  place text := coalesce(new.run_on, '');
  this  text;
begin
  if new.type in ('command', 'dummy') then
    if tg_op = 'INSERT' then
      raise check_violation using message = format('a job of type %s runs nothing that could be shared', new.type),
        constraint = 'jobqueue_share', table = 'jobqueue', column = 'share', hint = 'Leave share out.';
    end if;
    update bellhop.jobqueue j set share = null where j.id = new.id;
    return null;
  end if;
  this := (pg_current_xact_id(), new.type, place, new.priority, new.share)::text;
  if current_setting('bellhop.share_came', true) is distinct from this then
    insert into bellhop.share_arrival (type, place, priority, share) values (new.type, place, new.priority, new.share);
    perform set_config('bellhop.share_came', this, true); -- a ROLLBACK TO takes both back
  end if;
  return null;
end
$$;

create or replace trigger _800_share_came
  after insert or update of state, held, unmet, run_at, locks, share, type, run_on, priority on bellhop.jobqueue
  for each row when (new.share is not null and new.state = 'ready' and not new.held and new.locks is null and new.unmet is null)
  execute function bellhop.share_came();
