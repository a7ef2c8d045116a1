-- The bell on a user's table: it rings when a statement has left rows whose dispatch column is NULL. It uses the same
-- bell and the same gate as ring.sql; the gate is only tested if there is a row to run, since it is kept to the end of
-- the transaction. The argument is the column's number, so that the column may be renamed. It runs with the rights of
-- the login that writes, reads only the catalogue and the new rows, and needs no right on bellhop's schema.
-- Grant: operator
create or replace function bellhop.ring_rows() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  dispatch name;
  waits    boolean;
begin
  select a.attname into dispatch from pg_attribute a where a.attrelid = tg_relid and a.attnum = tg_argv[0]::smallint and not a.attisdropped;
  if dispatch is null then
    return null; -- the column is gone: that breaks the attachment, but no INSERT
  end if;
  execute format('select exists (select from bellhop_new n where n.%I is null)', dispatch) into waits;
  if waits and not pg_try_advisory_xact_lock_shared(7090192401229115393) then
    perform pg_notify('bellhop', 'inserted'); -- nothing that was there before is ready now: see ring.sql
  end if;
  return null;
end
$$;
