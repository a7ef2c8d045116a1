-- The bell. One constant payload for each statement: PostgreSQL folds equal ones in a transaction, and a listener needs
-- to know no more than "look: jobs came in". Rings for any other reason have no payload, or another one.
-- Grant: none
create or replace function bellhop.ring() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('bellhop', 'inserted');
  perform pg_notify('bellhop_work', '');
  return null;
end
$$;

-- It rings only when an instance sleeps: the commits of all transactions that NOTIFY wait for each other, over the
-- flush of the WAL. An instance that sleeps has the gate, this advisory lock, or waits for it. While all are awake, the
-- producer gets the lock and keeps it to its end, and no function runs at all. docs/waking.md says why no job is
-- missed. The key is "bellhop\1", gateKey in sql/store.
create or replace trigger _900_ring
  after insert on bellhop.jobqueue
  for each statement when (not pg_try_advisory_xact_lock_shared(7090192401229115393))
  execute function bellhop.ring();
