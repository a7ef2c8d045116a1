-- stop: tells instances to stop, but only those that were there when it was said: a command that lay in the queue ends
-- no instance that came after it.
-- Grant: scheduler
create or replace function bellhop.stop_instances(name text, now boolean, said timestamptz) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  n integer;
begin
  update bellhop.instance i
     set stop = case when stop_instances.now then 'now' else coalesce(i.stop, 'finish') end
   where i.state = 'live' and i.started_at <= stop_instances.said
     and (stop_instances.name is null or i.name = stop_instances.name or i.id::text = stop_instances.name);
  get diagnostics n = row_count;
  perform pg_notify('bellhop_due', '');
  return n;
end
$$;
