-- A job with a share that is ready, or ready again, puts its key into the line (sql/functions/shares.sql). It appends a
-- row, and locks nothing that others wait for. In a transaction, the rows of one key append one, unless others append
-- rows of that key at the same time. Index: share_arrival_key, one probe for each row after the first.
-- The WHEN keeps the function away from all other rows. Without the trigger the safety scan finds the key.
-- Grant: none
create or replace function bellhop.share_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  spot text := coalesce(new.run_on, '');
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
  this := (pg_current_xact_id(), new.type, spot, new.priority, new.share)::text;
  if current_setting('bellhop.share_came', true) is distinct from this
     -- A row of another transaction says nothing of this job: a claim may delete it before this job can be seen.
     and (coalesce(current_setting('bellhop.share_came', true), '') = ''
       or (select a.xmin from bellhop.share_arrival a
            where a.type = new.type and a.place = spot and a.priority = new.priority and a.share = new.share
            order by a.id desc limit 1) is distinct from pg_current_xact_id()::xid) then
    insert into bellhop.share_arrival (type, place, priority, share) values (new.type, spot, new.priority, new.share);
    perform set_config('bellhop.share_came', this, true); -- a ROLLBACK TO takes both back
  end if;
  return null;
end
$$;

create or replace trigger _800_share_came
  after insert or update of state, held, unmet, run_at, locks, share, type, run_on, priority on bellhop.jobqueue
  for each row when (new.share is not null and new.state = 'ready' and not new.held and new.locks is null and new.unmet is null)
  execute function bellhop.share_came();
