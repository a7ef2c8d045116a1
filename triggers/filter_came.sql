-- The rules decide about a job that comes in: a rejected job is refused, and passes look at a paused or limited one.
-- Its trigger, _030_filter, exists while there are rules (bellhop.filter_trigger): without any, nothing is asked.
-- Grant: none
create or replace function bellhop.filter_came() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  f bellhop.filter;
begin
  new.priority := coalesce(bellhop.priority_of(new.priority_name), new.priority); -- _100_arrange writes it
  f := bellhop.applying_filter(new);
  if f.action = 'REJECT' then
    raise check_violation using constraint = 'jobqueue_filter_rejected', table = 'jobqueue', schema = 'bellhop',
      message = format('filter %s rejects this job%s', f.id, coalesce(': ' || nullif(f.reason, ''), '')),
      hint = 'bellhop filter info ' || f.id;
  elsif f.action = 'PAUSE' or f.action like 'RATE_LIMIT %' then
    update bellhop.jobqueue j set locks = '{}' where j.id = new.id and j.locks is null; -- which rings
  end if;
  return null;
end
$$;
