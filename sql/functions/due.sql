-- make_due: the rows that the clock has made ready, at most 1000 a call: how many, and how long until the next row becomes
-- due, in ms, a day at most (NULL: none will; infinity is never). Rows that another transaction has locked, or that are
-- left over, are due soon. The time is that of a sub-select, read once: as clock_timestamp() itself, which is volatile, it
-- is no condition of the index, and each call read all rows that wait. In PL/pgSQL, which keeps the plan: to plan it took
-- three times as long as to run it. Index: jobqueue_parked, the first of two ranges.
-- Grant: scheduler
create or replace function bellhop.make_due(out n integer, out next_ms bigint)
language plpgsql volatile
set search_path = pg_catalog, bellhop, pg_temp
as $$
begin
  with t as materialized (
    select clock_timestamp() as at
  ), made as (
    update bellhop.jobqueue j
       set state = 'ready', waiting_for = null, run_at = case when j.attempt > 0 then null else j.run_at end
     where j.id = any (array(
             select d.id from bellhop.jobqueue d
              where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t)
              order by d.run_at limit 1000 for update skip locked))
    returning 1
  )
  select m.n::integer, least(case when m.n < due.n then 50 end, next.ms)
    into make_due.n, make_due.next_ms
    from (select count(*) as n from made) m
   cross join (select count(*) as n
                 from (select from bellhop.jobqueue d
                        where d.state = 'scheduled' and not d.held and d.run_at <= (select t.at from t)
                        order by d.run_at limit 1001) d) due
   cross join (select min(least(86400000, greatest(0, extract(epoch from d.run_at - clock_timestamp()) * 1000))::bigint) as ms
                 from ((select s.run_at from bellhop.jobqueue s
                         where s.state = 'scheduled' and not s.held and s.run_at > (select t.at from t) and s.run_at < 'infinity'
                         order by s.run_at limit 1)
                       union all
                       (select r.run_at from bellhop.jobqueue r
                         where r.state = 'ready' and not r.held and r.run_at > (select t.at from t) and r.run_at < 'infinity'
                         order by r.run_at limit 1)) d) next;
end
$$;
