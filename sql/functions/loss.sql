-- loss_seen: an operator has read what was lost in failovers: it is not reported any more. Returns how many entries
-- those were.
-- Grant: operator scheduler
create or replace function bellhop.loss_seen() returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  n integer;
begin
  update bellhop.loss l set seen_at = clock_timestamp(), seen_by = bellhop.actor() where l.seen_at is null;
  get diagnostics n = row_count;
  if n > 0 then
    perform bellhop.changed('loss_seen', 'loss', null, format('%s losses read', n));
  end if;
  return n;
end
$$;
