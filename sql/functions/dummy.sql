-- Jobs of the type dummy do nothing: they stand for jobs that are not known yet, or for the end of several. No agent
-- has them, and no claim sees them: the transaction that finds one ready ends it.

-- pass_dummies: ends the dummies that are ready, and those that become ready by that. Returns how many other jobs
-- became ready; told is as in bellhop.ended. Index: jobqueue_ready.
-- Grant: scheduler
create or replace function bellhop.pass_dummies(told boolean default false) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  ids   bigint[];
  ready integer := 0;
  of_runs boolean;
begin
  loop
    with passed as (
      update bellhop.jobqueue j
         set state = 'succeeded', attempt = j.attempt + 1, started_at = coalesce(j.started_at, clock_timestamp()),
             attempt_at = case when j.started_at is not null then clock_timestamp() end,
             ended_at = clock_timestamp(), exit_code = 0, waiting_for = null
       where j.id = any (array(
               select d.id from bellhop.jobqueue d
                where d.type = 'dummy' and d.state = 'ready' and not d.held and d.run_on is null and d.locks is null and d.share is null and d.unmet is null
                  and (d.run_at is null or d.run_at <= clock_timestamp())
                  and (d.not_after is null or d.not_after > clock_timestamp())
                  and not exists (select from bellhop.dependency x where x.job = d.id and not x.counted)
                order by d.priority, d.id limit 1000
                  for update skip locked))
      returning j.id, j.run
    )
    select array_agg(p.id), coalesce(bool_or(p.run is not null), false) into ids, of_runs from passed p;
    exit when ids is null;
    if of_runs then
      perform bellhop.runs_moved(ids);
    end if;
    ids := array(select distinct d.needs from bellhop.dependency d where d.needs = any (ids) and not d.met);
    if ids <> '{}' then
      ready := ready + bellhop.release_dependents(ids, told);
    end if;
  end loop;
  return ready;
end
$$;
