-- A batch is a job that needs all jobs of the batch and runs when they are over: its id is the batch's. Apart from
-- that, a batch is made of ordinary dependencies.

-- batch_add: lets the job of a batch need these jobs too. Jobs that it needs already are left out, so that a call may
-- be repeated, also when the batch is over. NULL: no batch.
-- Grant: submitter scheduler
create or replace function bellhop.batch_add(batch bigint, jobs bigint[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
begin
  if batch_add.batch is null or batch_add.jobs = '{}' then
    return;
  end if;
  insert into bellhop.dependency (job, needs)
  select batch_add.batch, n from unnest(batch_add.jobs) n
   where not exists (select from bellhop.dependency d where d.job = batch_add.batch and d.needs = n) order by n;
end
$$;

-- batch: submits the job that runs when all jobs of a batch are over, and returns its id; under a key that exists, the
-- id of the first one. jobs are in the batch; more join it by submit(…, batch => id), or by another call, until it has
-- begun. With held it does not begin before bellhop.release, however few have joined. on_failure: 'run' when all are
-- over, however they have ended; 'fail' only if all have succeeded; 'block' waits until they have, by a retry.
-- Grant: submitter scheduler
create or replace function bellhop.batch(
  type text default 'dummy', args text default null, key text default null, jobs bigint[] default null,
  held boolean default false, on_failure text default 'run', priority integer default 0, vars jsonb default null
) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
#variable_conflict use_column
declare
  id bigint;
begin
  id := bellhop.submit(batch.type, batch.args, key => batch.key, held => batch.held, on_failure => batch.on_failure,
                       priority => batch.priority, vars => batch.vars);
  perform bellhop.batch_add(id, batch.jobs);
  return id;
end
$$;

-- batch_count: how many jobs a batch has, by state; NULL if there is no such job, or the caller may not see it. Deleted
-- jobs are not counted.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.batch_count(
  id bigint, out jobs bigint, out waiting bigint, out running bigint,
  out succeeded bigint, out failed bigint, out cancelled bigint, out quarantined bigint
)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select count(n.id), count(*) filter (where n.state in ('held', 'blocked', 'scheduled', 'ready')),
         count(*) filter (where n.state in ('assigned', 'running')), count(*) filter (where n.state = 'succeeded'),
         count(*) filter (where n.state = 'failed'), count(*) filter (where n.state = 'cancelled'),
         count(*) filter (where n.state = 'quarantined')
    from bellhop.job b
    left join bellhop.dependency d on d.job = b.id
    left join bellhop.jobqueue n on n.id = d.needs
   where b.id = batch_count.id
   group by b.id
$$;
