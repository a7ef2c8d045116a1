-- wait: waits until a job is over, or until the time is up (NULL: for ever), and returns its state then: a state that
-- is not final says that the time is up; NULL: there is no such job, or none that the caller may see. The result is for
-- operators and the job's submitter. It looks again and again, at first every few milliseconds, and holds a snapshot
-- while it waits, which keeps deleted rows from being cleaned up: name a time. Listeners (package client, `bellhop
-- wait`) hold none.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.wait(id bigint, timeout interval default null,
                                        out state text, out exit_code integer, out result jsonb, out error text)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  began timestamptz := clock_timestamp();
  spent interval;
  pause interval := interval '3 ms';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise feature_not_supported using message = format('in a transaction that is %s nothing of what others do is seen, and nothing could be waited for', current_setting('transaction_isolation')),
      hint = 'Wait outside of it.';
  elsif exists (select from bellhop.jobqueue j where j.id = wait.id and j.txid = pg_current_xact_id_if_assigned()) then
    raise object_not_in_prerequisite_state using message = format('job %s does not start before this transaction commits', wait.id),
      hint = 'Commit, then wait.';
  end if;
  loop
    select j.state, j.exit_code, j.result, j.error into state, exit_code, result, error from bellhop.job j where j.id = wait.id;
    spent := clock_timestamp() - began;
    exit when state is null or state in ('succeeded', 'failed', 'cancelled', 'quarantined') or spent >= wait.timeout;
    pause := least(pause * 1.2, case when spent < interval '30 s' then interval '15 ms' when spent < interval '10 min' then interval '100 ms' else interval '500 ms' end);
    perform pg_sleep_for(least(pause, wait.timeout - spent));
  end loop;
end
$$;
