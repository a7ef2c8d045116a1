-- An instance that falls asleep waits here for the gate, until every producer has ended that found it open, and so did
-- not ring. This is a function, because a separate statement that has waited for long enough would throw an ERROR into
-- the server's log each time.
-- Grant: scheduler
create or replace function bellhop.wait_for_gate(key bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_lock(key); -- the session's: it outlives this statement
  return true;
exception when lock_not_available or query_canceled or deadlock_detected then
  return false;
end
$$;
