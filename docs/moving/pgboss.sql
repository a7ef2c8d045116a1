-- Moves pg-boss's open jobs into bellhop's queue, or back, in one transaction: a job is in one queue or in the other.
-- The tables are those of pg-boss 10 or newer.
--
--   psql "$DATABASE_URL" -f pgboss.sql              counts, and changes nothing
--   psql "$DATABASE_URL" -v go=move -f pgboss.sql   moves the open jobs
--   psql "$DATABASE_URL" -v go=back -f pgboss.sql   gives pg-boss back the jobs that have not begun
--
--   -v queues=mail,invoice   only jobs of these queues (default: all)
--   -v schema=boss           the schema of pg-boss's tables (default: pgboss)
--
-- The login becomes the owner of the jobs. It needs bellhop_submitter, and the rights to read and delete pg-boss's jobs
-- and to make the table job_moved in their schema, which keeps each moved row as it was. Drop that table when you are sure.
\set ON_ERROR_STOP on
\set QUIET on
\if :{?go} \else \set go count
\endif
\if :{?queues} \else \set queues ''
\endif
\if :{?schema} \else \set schema pgboss
\endif
select :'go' = 'back' as back, :'go' = 'move' as move, case :'go' when 'move' then 'for update of j skip locked' else '' end as lock \gset
begin;
set local client_min_messages = warning;
select set_config('search_path', quote_ident(:'schema') || ', pg_temp', true) as path, set_config('moving.go', :'go', true) as go \gset now_
do $$
begin
  if current_setting('moving.go') not in ('count', 'move', 'back') then
    raise 'go is "%"', current_setting('moving.go') using hint = 'Write -v go=move or -v go=back; without it, the script counts.';
  elsif not exists (select from pg_attribute where attrelid = to_regclass('job') and attname = 'start_after') then
    raise 'there is no table job of pg-boss 10 or newer in the schema %', split_part(current_setting('search_path'), ',', 1)
      using hint = 'Name the schema of pg-boss''s tables (-v schema=boss), or upgrade pg-boss first.';
  elsif to_regclass('bellhop.jobqueue') is null then
    raise 'this database has no schema bellhop' using hint = 'Both queues are in one database: type `bellhop migrate`.';
  elsif current_setting('moving.go') = 'back' and to_regclass('job_moved') is null then
    raise 'there is no table job_moved' using hint = 'No job has been moved from this schema.';
  end if;
end
$$;

\if :back
-- pg-boss has its rows again, but for jobs that have begun here, or whose unique key pg-boss has given to another job.
create temp table going on commit drop as
with given as (
  insert into job
  select (jsonb_populate_record(null::job, m.boss)).*
    from job_moved m join bellhop.job b on b.id = m.job
   where b.attempt = 0 and b.state in ('held', 'blocked', 'scheduled', 'ready')
     and (:'queues' = '' or m.boss ->> 'name' = any (string_to_array(:'queues', ',')))
  on conflict do nothing returning id
)
select m.job, m.id, null::text as state from job_moved m join given using (id);
update going set state = bellhop.edit(job, hold => true);
-- These began a moment ago.
delete from job j using going g where j.id = g.id and g.state is distinct from 'held';
delete from going where state is distinct from 'held';
do $$
begin
  if exists (select from going g join bellhop.job b on b.id = g.job where b.attempt > 0) then
    raise 'a job has begun and failed meanwhile' using hint = 'Nothing has changed. Run the script again.';
  end if;
end
$$;
select count(bellhop.cancel(job)) as n from going \gset back_
delete from job_moved m using going g where m.job = g.job;
\echo 'Jobs that are pg-boss''s again:' :back_n
\echo 'Of the moved jobs, these stay with bellhop:'
select coalesce(b.state, 'pruned') as state, count(*) as jobs from job_moved m left join bellhop.job b on b.id = m.job group by 1 order by 1;

\else
-- What each open job becomes, and why some stay. Columns that not every version has are read from boss.
create temp table moving on commit drop as
with open as materialized (
  select j.*, to_jsonb(j) as boss
    from job j
   where j.state in ('created', 'retry') and (:'queues' = '' or j.name = any (string_to_array(:'queues', ',')))
   order by j.created_on, j.id :lock
), named as (
  select *,
         policy in ('singleton', 'stately', 'exclusive') as alone, -- one job of a key runs at a time
         case when singleton_on is not null or policy in ('short', 'stately', 'exclusive')
              then concat_ws('.', name, nullif(singleton_key, '')) || coalesce(to_char(singleton_on, '"@"YYYY-MM-DD"T"HH24:MI:SS"Z"'), '') end as key
    from open
), placed as (
  select *, row_number() over (partition by key order by created_on, id) as place from named
)
select n.id, n.boss, n.name as type, n.data::text as args, n.key, n.created_on,
       least(greatest(-n.priority, -20), 19) as priority, -- here the lowest runs first
       case when n.start_after > now() then n.start_after end as run_at,
       greatest(n.retry_limit + 1 - n.retry_count - (n.started_on is not null)::int, 1) as attempts,
       coalesce((n.boss ->> 'expire_seconds')::int * interval '1 second', (n.boss ->> 'expire_in')::interval) as timeout,
       n.keep_until as not_after,
       n.boss ->> 'group_id' as share,
       case when n.alone then array['rate-limit:1:' || concat_ws('.', n.name, nullif(n.singleton_key, ''))] end as reasons,
       case when (n.boss ->> 'blocked')::boolean or (n.boss ->> 'blocking')::boolean then 'it is a part of a flow'
            when n.policy = 'key_strict_fifo' then 'the policy of its queue is key_strict_fifo'
            when n.name in ('command', 'attachment', 'dummy') then 'its queue is the name of a type that bellhop needs itself'
            when n.keep_until <= now() then 'it has expired (keep_until), and pg-boss will delete it'
            when n.key is not null and n.place > 1 then 'an older open job has its key'
            when exists (select from bellhop.job b where b.key = n.key and b.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
            then 'an open job of bellhop has its key' end as stays,
       array_remove(array[
         case when n.name !~ '^[A-Za-z0-9_:-]+$' then format('an agent for queue %s: its name has other characters than letters, digits and _ - :, so that only a worker can take its jobs', quote_literal(n.name)) end,
         case when n.priority not between -19 and 20 then 'a priority outside of -19 to 20: it becomes the nearest one' end,
         case when n.retry_delay > 0 or n.retry_backoff then 'the pause between attempts: write `retry` for the type' end,
         case when n.dead_letter is not null then 'the dead letter queue: a failed job stays in the queue, and `bellhop retry` runs it again' end,
         case when n.boss ->> 'heartbeat_seconds' is not null then 'the heartbeat: the guard of the agent, or the lease of the worker, replaces it' end,
         case when n.boss ->> 'group_tier' is not null then 'the tier of its group: write a filter for the share' end,
         case when n.singleton_key is not null and n.key is null and not n.alone then 'a singleton key that the policy of its queue does not use' end
       ], null) as lost
  from placed n;

\echo 'Jobs that move:'
select type, count(*) as jobs, count(run_at) as "for later", count(key) as "with a key", count(reasons) as "one at a time"
  from moving where stays is null group by type order by type;
\echo 'Jobs that stay with pg-boss:'
select reason, count(*) as jobs from (
  select stays as reason from moving where stays is not null
  union all
  select case j.state when 'active' then 'it runs' else 'another transaction has it, or has just brought it' end
    from job j where j.state in ('created', 'retry', 'active') and not exists (select from moving m where m.id = j.id)
     and (:'queues' = '' or j.name = any (string_to_array(:'queues', ',')))
) s group by reason order by reason;
\echo 'What does not come along:'
select what, count(*) as jobs from moving, unnest(lost) what where stays is null group by what
union all select 'schedules of queues: write workflows (from_cron.md)', count(*) from schedule where :'queues' = '' or name = any (string_to_array(:'queues', ',')) having count(*) > 0
 order by what;

\if :move
create table if not exists job_moved (job bigint primary key, id uuid not null, boss jsonb not null, moved_at timestamptz not null default now());
insert into job_moved (job, id, boss)
select bellhop.submit(m.type, args => m.args, key => m.key, priority => m.priority, run_at => m.run_at, reasons => m.reasons,
                      max_attempts => m.attempts, timeout => m.timeout, not_after => m.not_after, share => m.share,
                      once => case when m.key is null then 'ever' else 'open' end), m.id, m.boss
  from (select * from moving where stays is null order by created_on, id) m;
delete from job j using moving m where j.id = m.id and m.stays is null;
\echo 'They have moved.'
\else
\echo 'Nothing has changed. To move them: -v go=move'
\endif
\endif
commit;
