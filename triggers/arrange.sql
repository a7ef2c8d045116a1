-- Rows that may not start yet get the state that says so. The WHEN keeps the function away from ordinary rows.
-- Nothing depends on it: a claim tests held and run_at themselves.
-- Grant: none
create or replace function bellhop.arrange() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  update bellhop.jobqueue j
     set state = case when j.held then 'held'
                      when j.unmet is not null then 'blocked'
                      when j.run_at > clock_timestamp() then 'scheduled'
                      else j.state end,
         priority = coalesce(bellhop.priority_of(j.priority_name), j.priority)
   where j.id = new.id and j.state in ('ready', 'held', 'blocked');
  if new.not_after is not null then
    insert into bellhop.deadline (job, at) values (new.id, new.not_after) on conflict (job) do update set at = excluded.at;
    perform pg_notify('bellhop_due', '');
  end if;
  if new.run_at is not null then
    perform pg_notify('bellhop_due', ''); -- the timer for the next due row may have to be set earlier
  end if;
  return null;
end
$$;

create or replace trigger _100_arrange
  after insert on bellhop.jobqueue
  for each row when (new.held or new.run_at is not null or new.priority_name is not null or new.not_after is not null)
  execute function bellhop.arrange();
