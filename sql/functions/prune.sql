-- whole_runs: locks the steps of runs that are over, and gives those of the runs of which all have one of the states and
-- could be locked. Runs are deleted whole: one that lacks a step could succeed without it.
-- Grant: scheduler
create or replace function bellhop.whole_runs(runs bigint[], states text[]) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  locked bigint[];
begin
  locked := array(select o.id
                    from bellhop.run r join bellhop.dependency s on s.job = r.last join bellhop.jobqueue o on o.id = s.needs
                   where r.id = any (runs) and r.ended_at is not null and o.state = any (states)
                     and o.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                   order by o.id
                     for update of o skip locked);
  return array(select w.needs
                 from (select s.needs, bool_and(l.id is not null) over (partition by r.id) as whole
                         from bellhop.run r join bellhop.dependency s on s.job = r.last left join unnest(locked) l (id) on l.id = s.needs
                        where r.id = any (runs)) w
                where w.whole order by w.needs);
end
$$;

-- prune_jobs: deletes jobs that ended within a time, since <= and < until (NULL: no bound), with all that is kept about
-- them, in the order of their ids from past on, `most` at a time; with rjm, only RJM's. A run comes when its last step
-- does, with all its steps: they may be more than `most`. It keeps jobs that an unfinished job still needs: children,
-- too, whose parent reads their results when the last of them has ended. It keeps jobs that succeeded and whose files
-- are not deleted yet, and jobs of attached rows whose table lacks the outcome. A step goes by the end of its run, and
-- only if no step of the run has another state or is kept: a run that lacks a step could succeed without it. Returns the
-- deleted jobs; with whole, as the archive has them (bellhop.as_archived), and also the runs whose last step is among
-- them. Skipped runs, which had no step, go with cancelled jobs: until then their events are known, and start no other
-- run.
-- Grant: operator scheduler
create or replace function bellhop.prune_jobs(since timestamptz, until timestamptz, states text[], past bigint, most integer, rjm boolean, whole boolean)
returns table (job bigint, "row" jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  ids  bigint[];
  runs bigint[];
begin
  ids := array(select j.id from bellhop.jobqueue j
                left join bellhop.run r on r.id = j.run
                where j.id > past and j.state = any (states) and j.state in ('succeeded', 'failed', 'cancelled', 'quarantined')
                  and (prune_jobs.until is null or j.ended_at < prune_jobs.until)
                  and (prune_jobs.since is null or coalesce(r.ended_at, j.ended_at) >= prune_jobs.since)
                  and not exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                   where d.needs = j.id and (not d.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                  and not exists (select from bellhop.attached x where x.job = j.id and x.live)
                  and not exists (select from bellhop.rjm f where f.job = j.id and f.state <> 'old' and j.state = 'succeeded')
                  -- The dummies of a run stay with it, and a run stays while it is not over, could go on, or has a gate
                  -- behind which others are queued.
                  and (j.run is null or j.step is not null
                                        and (r.id is null or r.ended_at is not null and (prune_jobs.until is null or r.ended_at < prune_jobs.until)
                                                             and not exists (select from bellhop.jobqueue g where g.id = r.gate and g.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                                                             and not exists (
                        select from bellhop.dependency s join bellhop.jobqueue o on o.id = s.needs
                         where s.job = r.last
                           and (o.state <> all (states) or o.id > j.id
                                or exists (select from bellhop.dependency d join bellhop.jobqueue c on c.id = d.job
                                            where d.needs = o.id and (not d.met or c.stepped) and c.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
                                or exists (select from bellhop.attached x where x.job = o.id and x.live)
                                or exists (select from bellhop.rjm f where f.job = o.id and f.state <> 'old' and o.state = 'succeeded')))))
                  and (not prune_jobs.rjm or exists (select from bellhop.rjm f where f.job = j.id))
                order by j.id limit most
                  for update of j skip locked);
  runs := array(select r.id from bellhop.jobqueue j join bellhop.run r on r.id = j.run where j.id = any (ids));
  if runs <> '{}' then
    -- As many of them, in this order, as it takes to reach `most`: each comes with its other steps.
    ids := array(select x.id
                   from (select j.id, sum(greatest(1, (select count(*) from bellhop.run r join bellhop.dependency s on s.job = r.last where r.id = j.run)))
                                        over (order by j.id rows between unbounded preceding and 1 preceding) as before
                           from bellhop.jobqueue j where j.id = any (ids)) x
                  where coalesce(x.before, 0) < most);
    runs := array(select r.id from bellhop.jobqueue j join bellhop.run r on r.id = j.run where j.id = any (ids));
    ids := bellhop.whole_runs(runs, states)
           || array(select j.id from bellhop.jobqueue j where j.id = any (ids) and not exists (select from bellhop.run r where r.id = j.run));
  end if;
  if whole then
    return query select a.job, a."row" from bellhop.as_archived(ids) a;
  else
    return query select i, null::jsonb from unnest(ids) i;
  end if;
  runs := array(select distinct j.run from bellhop.jobqueue j where j.id = any (ids) and j.run is not null);
  perform bellhop.jobs_forgotten(ids);
  if 'cancelled' = any (states) and not prune_jobs.rjm then
    runs := runs || array(select r.id from bellhop.run r
                           where r.state = 'skipped' and r.last is null and (prune_jobs.until is null or r.ended_at < prune_jobs.until)
                             and (prune_jobs.since is null or r.ended_at >= prune_jobs.since)
                           order by r.ended_at limit 100000);
  end if;
  if runs <> '{}' then
    runs := array(select r.id from bellhop.run r
                   where r.id = any (runs) and r.ended_at is not null and not exists (select from bellhop.dependency d where d.job = r.last)
                   order by r.id for update of r skip locked);
    if whole then
      return query select a.job, a."row" from bellhop.runs_as_archived(runs) a;
    end if;
    perform bellhop.runs_forgotten(runs);
  end if;
  if ids <> '{}' then
    perform bellhop.changed('prune', 'job', null, format('%s jobs deleted', cardinality(ids)));
  end if;
end
$$;

-- prune: deletes jobs that are over for longer than a time. last is NULL if fewer than `most` were left: a search for
-- more would read the rest of the queue once again.
-- Grant: operator scheduler
create or replace function bellhop.prune(older_than interval, states text[], past bigint, most integer, rjm boolean default false,
                                         out deleted integer, out last bigint)
language sql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select count(*)::integer, case when count(*) >= most then max(p.job) end
    from bellhop.prune_jobs(null, clock_timestamp() - older_than, states, past, most, rjm, false) p
$$;

-- prune_into: prune_jobs that first writes each job, and each run, to a table of the user's, (job bigint, "row" jsonb),
-- as retention does (bellhop.archived).
-- The caller writes there, by its own rights, not the owner of this schema: the table, and what its triggers do, are
-- the caller's choice. last is NULL if there are no more.
-- Grant: operator scheduler
create or replace function bellhop.prune_into(archive text, since timestamptz, until timestamptz, states text[], past bigint, most integer,
                                              out deleted integer, out last bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if (select count(*) from pg_attribute a
       where a.attrelid = to_regclass(archive) and (a.attname, format_type(a.atttypid, null)) in (('job', 'bigint'), ('row', 'jsonb'))) <> 2
     or to_regclass(archive) is null then
    raise invalid_parameter_value using message = format('there is no table %s (job bigint, "row" jsonb) for the archive', archive),
      hint = format('create table %s (job bigint, "row" jsonb)   -- its schema is part of the name', archive);
  end if;
  execute format($q$with gone as materialized (select p.job, p."row" from bellhop.prune_jobs($1, $2, $3, $4, $5, false, true) p),
                         kept as (insert into %s (job, "row") select g.job, g."row" from gone g)
                    select count(*)::integer, case when count(*) >= $5 then max(g.job) end from gone g where not g."row" ? 'messages'$q$, to_regclass(archive))
    into deleted, last using since, until, states, past, most;
end
$$;

-- runs_forgotten: deletes these runs, which have no step left, with their first and last jobs, their events and
-- messages. The caller has locked their rows. An event that is forgotten like this may come again.
-- Grant: scheduler
create or replace function bellhop.runs_forgotten(ids bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if ids = '{}' then
    return;
  end if;
  delete from bellhop.jobqueue j where j.id = any (array(select x from bellhop.run r, unnest(array[r.gate, r.last]) x where r.id = any (ids)));
  delete from bellhop.event e using bellhop.run r where r.id = any (ids) and e.workflow = r.workflow and e.event = r.event and e.run = r.id;
  -- a message that is still to be sent describes its run itself
  delete from bellhop.notice n where n.run = any (ids) and n.status <> 'waiting';
  delete from bellhop.run r where r.id = any (ids);
end
$$;
