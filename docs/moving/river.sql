-- Moves River's open jobs into bellhop's queue, or back, in one transaction: a job is in one queue or in the other.
-- River's tables are those of its migration 4 or later.
--
--   psql "$DATABASE_URL" -f river.sql              counts, and changes nothing
--   psql "$DATABASE_URL" -v go=move -f river.sql   moves the open jobs
--   psql "$DATABASE_URL" -v go=back -f river.sql   gives River back the jobs that have not begun
--
--   -v kinds=mail,invoice    only jobs of these kinds (default: all)
--   -v vars=tenant,locale    keys of metadata that become variables (default: none)
--   -v schema=river          the schema of River's tables (default: public)
--
-- The login becomes the owner of the jobs. It needs bellhop_submitter, and the rights to read and delete River's jobs
-- and to make the table river_job_moved, which keeps each moved row as it was. Drop that table when you are sure.
\set ON_ERROR_STOP on
\set QUIET on
\if :{?go} \else \set go count
\endif
\if :{?kinds} \else \set kinds ''
\endif
\if :{?vars} \else \set vars ''
\endif
\if :{?schema} \else \set schema public
\endif
select :'go' = 'back' as back, :'go' = 'move' as move, case :'go' when 'move' then 'for update skip locked' else '' end as lock \gset
begin;
set local client_min_messages = warning;
select set_config('search_path', quote_ident(:'schema') || ', pg_temp', true) as path, set_config('moving.go', :'go', true) as go \gset now_
do $$
begin
  if current_setting('moving.go') not in ('count', 'move', 'back') then
    raise 'go is "%"', current_setting('moving.go') using hint = 'Write -v go=move or -v go=back; without it, the script counts.';
  elsif to_regclass('river_job') is null or to_regclass('river_queue') is null then
    raise 'there are no tables river_job and river_queue in the schema %', split_part(current_setting('search_path'), ',', 1)
      using hint = 'Name the schema of River''s tables (-v schema=river). River 0.5 or newer has both tables.';
  elsif to_regclass('bellhop.jobqueue') is null then
    raise 'this database has no schema bellhop' using hint = 'Both queues are in one database: type `bellhop migrate`.';
  elsif current_setting('moving.go') = 'back' and to_regclass('river_job_moved') is null then
    raise 'there is no table river_job_moved' using hint = 'No job has been moved from this schema.';
  end if;
end
$$;

\if :back
-- River has its rows again, but for jobs that have begun here, or whose unique key River has given to another job.
create temp table going on commit drop as
with given as (
  insert into river_job
  select (jsonb_populate_record(null::river_job, m.river)).*
    from river_job_moved m join bellhop.job b on b.id = m.job
   where b.attempt = 0 and b.state in ('held', 'blocked', 'scheduled', 'ready')
     and (:'kinds' = '' or m.river ->> 'kind' = any (string_to_array(:'kinds', ',')))
  on conflict do nothing returning id
)
select m.job, m.id, null::text as state from river_job_moved m join given using (id);
update going set state = bellhop.edit(job, hold => true);
-- These began a moment ago.
delete from river_job j using going g where j.id = g.id and g.state is distinct from 'held';
delete from going where state is distinct from 'held';
do $$
begin
  if exists (select from going g join bellhop.job b on b.id = g.job where b.attempt > 0) then
    raise 'a job has begun and failed meanwhile' using hint = 'Nothing has changed. Run the script again.';
  end if;
end
$$;
select count(bellhop.cancel(job)) as n from going \gset back_
delete from river_job_moved m using going g where m.job = g.job;
\echo 'Jobs that are River''s again:' :back_n
\echo 'Of the moved jobs, these stay with bellhop:'
select coalesce(b.state, 'pruned') as state, count(*) as jobs from river_job_moved m left join bellhop.job b on b.id = m.job group by 1 order by 1;

\else
-- What each open job becomes, and why some stay.
create temp table moving on commit drop as
with open as materialized (
  select j.*, to_jsonb(j) as river, substr(to_jsonb(j) ->> 'unique_key', 3) as uniq
    from river_job j
   where j.state in ('available', 'scheduled', 'retryable') and (:'kinds' = '' or j.kind = any (string_to_array(:'kinds', ',')))
   order by j.id :lock
), named as (
  select *, kind || '.' || uniq as key, row_number() over (partition by uniq order by id) as place from open
)
select n.id, n.river, n.kind as type, n.args::text as args, n.key, n.metadata, n.scheduled_at,
       (n.priority - 1) * 5 as priority, -- 1, River's default, is 0; 4 is 15
       case when n.scheduled_at > now() then n.scheduled_at end as run_at,
       greatest(n.max_attempts - n.attempt, 1) as attempts,
       nullif(n.tags::text[] || case when n.queue <> 'default' then array['queue:' || n.queue] else '{}'::text[] end, '{}') as reasons,
       (select jsonb_object_agg(v, n.metadata ->> v) from unnest(string_to_array(:'vars', ',')) v where n.metadata ->> v is not null) as vars,
       exists (select from river_queue q where q.name = n.queue and q.paused_at is not null) as held,
       case when n.metadata ? 'workflow_id' then 'it is a task of a workflow of River Pro'
            when n.kind in ('command', 'attachment', 'dummy') then 'its kind is the name of a type that bellhop needs itself'
            when n.uniq is not null and n.place > 1 then 'an older open job has its unique key'
            when exists (select from bellhop.job b where b.key = n.key and b.state not in ('succeeded', 'failed', 'cancelled', 'quarantined'))
            then 'an open job of bellhop has its key' end as stays
  from named n;

\echo 'Jobs that move:'
select type, count(*) as jobs, count(run_at) as "for later", count(key) as "with a key", count(*) filter (where held) as "held, since their queue is paused"
  from moving where stays is null group by type order by type;
\echo 'Jobs that stay with River:'
select reason, count(*) as jobs from (
  select stays as reason from moving where stays is not null
  union all
  select case j.state when 'running' then 'it runs' when 'pending' then 'it is pending' else 'another transaction has it, or has just brought it' end
    from river_job j where j.state not in ('completed', 'cancelled', 'discarded') and not exists (select from moving m where m.id = j.id)
     and (:'kinds' = '' or j.kind = any (string_to_array(:'kinds', ',')))
) s group by reason order by reason;
\echo 'Keys of metadata that do not come along (name those that your agents need: -v vars=…):'
select k as key, count(*) as jobs from moving, jsonb_object_keys(metadata) k
 where stays is null and k <> all (string_to_array(:'vars', ',')) group by k order by k;

\if :move
create table if not exists river_job_moved (job bigint primary key, id bigint not null, river jsonb not null, moved_at timestamptz not null default now());
insert into river_job_moved (job, id, river)
select bellhop.submit(m.type, args => m.args, key => m.key, priority => m.priority, run_at => m.run_at, held => m.held, vars => m.vars,
                      reasons => m.reasons, max_attempts => m.attempts, once => case when m.key is null then 'ever' else 'open' end), m.id, m.river
  from (select * from moving where stays is null order by scheduled_at, id) m;
delete from river_job j using moving m where j.id = m.id and m.stays is null;
\echo 'They have moved.'
\else
\echo 'Nothing has changed. To move them: -v go=move'
\endif
\endif
commit;
