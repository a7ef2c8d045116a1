-- prune: deletes jobs that are over for longer than a time, with what is kept of them, in the order of their ids from
-- past on, `most` at a time; with rjm, RJM's only. But none that a job which is not over still needs, none that
-- succeeded and whose files are not deleted yet, and none
-- of a row of an attached table that is not told yet what became of it. last is NULL when there are no more.
create or replace function bellhop.prune(older_than interval, states text[], past bigint, most integer, rjm boolean default false,
                                         out deleted integer, out last bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
declare
  ids bigint[];
begin
  ids := array(select j.id from bellhop.jobqueue j
                where j.id > past and j.state = any (states) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                  and j.ended_at < clock_timestamp() - older_than
                  and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                   where d.needs = j.id and not d.met and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                  and not exists (select from bellhop.attached x where x.job = j.id and x.live)
                  and not exists (select from bellhop.rjm r where r.job = j.id and r.state <> 'old' and j.state = 'succeeded')
                  -- The dummies of a run stay with it, and a run while it is not over, or could go on.
                  and (j.run is null or j.step is not null and not exists (
                         select from bellhop.run r where r.id = j.run and (r.ended_at is null or r.ended_at >= clock_timestamp() - older_than)))
                  and (not prune.rjm or exists (select from bellhop.rjm r where r.job = j.id))
                order by j.id limit most
                  for update of j skip locked);
  last := ids[cardinality(ids)];
  delete from bellhop.attempt_past a where a.job = any (ids);
  delete from bellhop.lost_run l where l.job = any (ids);
  delete from bellhop.log l where l.job = any (ids);
  delete from bellhop.item i where i.job = any (ids);
  delete from bellhop.deadline d where d.job = any (ids);
  delete from bellhop.rjm r where r.job = any (ids);
  delete from bellhop.attached x where x.job = any (ids);
  delete from bellhop.jobqueue j where j.id = any (ids);
  get diagnostics deleted = row_count;
  if not prune.rjm then
    perform bellhop.prune_runs(older_than, most);
  end if;
end
$$;

-- prune_runs: runs that have been over for as long, and of which no step is left, go with their events; skipped ones, too. An event
-- that is forgotten so may come again.
create or replace function bellhop.prune_runs(older_than interval, most integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  ids bigint[] := array(select r.id from bellhop.run r
                         where r.ended_at < clock_timestamp() - older_than
                           and not exists (select from bellhop.dependency d where d.job = r.last)
                         order by r.ended_at limit most for update of r skip locked);
begin
  if ids = '{}' then
    return;
  end if;
  delete from bellhop.jobqueue j where j.id = any (array(select x from bellhop.run r, unnest(array[r.gate, r.last]) x where r.id = any (ids)));
  delete from bellhop.event e using bellhop.run r where r.id = any (ids) and e.workflow = r.workflow and e.event = r.event and e.run = r.id;
  delete from bellhop.run r where r.id = any (ids);
end
$$;

revoke all on function bellhop.prune, bellhop.prune_runs from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_operator') then
    grant execute on function bellhop.prune_runs to bellhop_scheduler;
    grant execute on function bellhop.prune to bellhop_operator, bellhop_scheduler;
  end if;
end
$$;
