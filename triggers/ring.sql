-- The bell. One constant payload a statement: PostgreSQL folds equal ones in a
-- transaction, and a listener needs to know no more than "look".
create or replace function bellhop.ring() returns trigger
language plpgsql
set search_path = pg_catalog
as $$
begin
  perform pg_notify('bellhop', '');
  return null;
end
$$;

create or replace trigger _900_ring
  after insert on bellhop.jobqueue
  for each statement execute function bellhop.ring();
