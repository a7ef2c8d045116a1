-- expire: cancels jobs that have not begun by their not_after, at most this many. A job that runs just now is looked at
-- again every few seconds, since its run may be lost, or fail and be tried again. A row that another transaction has
-- locked is left for the next time. Returns how many were cancelled, and how long until the next job has to be looked
-- at, in ms (NULL: none).
-- Grant: scheduler
create or replace function bellhop.expire(most integer, out expired integer, out next_ms bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  due   bigint[];
  taken bigint[];
  over  bigint[];
begin
  expired := 0;
  due := array(select d.job from bellhop.deadline d where d.at <= (select clock_timestamp()) order by d.at limit most for update skip locked);
  if due <> '{}' then
    taken := array(select j.id from bellhop.jobqueue j where j.id = any (due) order by j.id for no key update skip locked);
    with ended as (
      update bellhop.jobqueue j
         set state = 'cancelled', ended_at = clock_timestamp(), waiting_for = null, unmet = null,
             error = format('expired: it had not begun by %s', to_char(j.not_after at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))
       where j.id = any (taken) and j.state in ('held', 'blocked', 'scheduled', 'ready') and j.not_after <= clock_timestamp()
      returning j.id
    )
    select coalesce(array_agg(e.id), '{}') into over from ended e;
    expired := cardinality(over);
    update bellhop.deadline d
       set at = greatest(clock_timestamp() + case when j.id = any (taken) then interval '5 s' else interval '100 ms' end, j.not_after)
      from bellhop.jobqueue j
     where d.job = any (due) and j.id = d.job and j.not_after is not null
       and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
    delete from bellhop.deadline d
     where d.job = any (due)
       and not exists (select from bellhop.jobqueue j where j.id = d.job and j.not_after is not null
                          and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'));
    if over <> '{}' then
      perform bellhop.ended(over);
    end if;
  end if;
  select least(86400000, greatest(0, extract(epoch from d.at - clock_timestamp()) * 1000))::bigint into next_ms
    from bellhop.deadline d where d.at < 'infinity' order by d.at limit 1;
end
$$;
