-- A job that names a place: every instance finds out whether one of its hosts
-- answers to that. Jobs that name none are not touched.
-- Grant: none
create or replace function bellhop.place() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('bellhop_due', '');
  return null;
end
$$;

create or replace trigger _200_place
  after insert on bellhop.jobqueue
  for each row when (new.run_on is not null)
  execute function bellhop.place();
