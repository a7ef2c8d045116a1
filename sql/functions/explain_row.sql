-- explain_row: why a row of an attached table does not run, as bellhop.explanation says it of jobs. The words are in
-- bellhop.causes. Index: attachment_name_key; the primary keys of attached and set_aside; attached_live.
create or replace function bellhop.explain_row_of(attachment bigint, key text) returns table (code text, sentence text, next text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' -- of times in sentences
as $$
#variable_conflict use_column
declare
  a      bellhop.attachment;
  mine   bellhop.attached;
  aside  bellhop.set_aside;
  hash   bytea := sha256(convert_to(explain_row_of.key, 'UTF8'));
  state  text; -- of the row's job
  over   boolean;
  n      bigint; -- how many rows run
  cause  text;
  args   jsonb;
begin
  select x.id, x.name, x.rel, x.pool, x.state, x.trouble into a.id, a.name, a.rel, a.pool, a.state, a.trouble
    from bellhop.attachment x where x.id = explain_row_of.attachment;
  select x.job, x.live into mine.job, mine.live from bellhop.attached x where x.attachment = a.id and x.digest = hash;
  select j.state into state from bellhop.job j where j.id = mine.job;
  over := state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into aside from bellhop.set_aside x where x.attachment = a.id and x.digest = hash;
  select count(*) into n from bellhop.attached x join bellhop.job j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  -- Not only what its last turn came to: there may have been none since.
  a.trouble := coalesce(bellhop.turn_trouble(a.id), case when a.state = 'broken' then a.trouble end);
  args := jsonb_build_object('name', a.name, 'job', mine.job, 'state', state, 'pool', a.pool, 'more', a.pool + 1, 'key', explain_row_of.key,
    'why', coalesce(aside.reason, a.trouble), 'times', aside.times, 'at', to_char(aside.again_at, 'YYYY-MM-DD HH24:MI:SSOF'),
    'table', case when a.rel::text ~ '^[a-z0-9_.]+$' then a.rel::text else quote_literal(a.rel::text) end); -- for a shell

  cause := case
    when a.trouble is not null then 'attachment_broken'
    when not exists (select from bellhop.instance i where i.state = 'live') then 'no_instance'
    when mine.live and not over then 'row_has_job'
    when mine.live and over and aside.outcome then 'outcome_pending/refused'
    when mine.live and over then 'outcome_pending'
    when aside.reason is not null and not aside.outcome then 'row_set_aside'
    when a.pool = 0 then 'pool_paused'
    when n >= a.pool then 'pool_full'
    when state is not null then 'row_ran'
    when exists (select from pg_inherits i join pg_class c on c.oid = i.inhparent and c.relkind = 'r' where i.inhparent = a.rel::oid)
      then 'not_taken/inherited'
    else 'not_taken' end;
  if cause = 'attachment_broken' then
    args := args || jsonb_build_object('why', a.trouble);
  elsif cause = 'not_taken/inherited' then
    args := args || jsonb_build_object('children', (select string_agg(i.inhrelid::regclass::text, ', ') from pg_inherits i where i.inhparent = a.rel::oid));
  end if;
  return query select * from bellhop.reason(cause, args);
end
$$;

create or replace function bellhop.explain_row(name text, key text) returns table (code text, sentence text, next text)
language sql stable
begin atomic
  select e.code, e.sentence, e.next from bellhop.explain_row_of(bellhop.attachment_named(name), key) e;
end;

revoke all on function bellhop.explain_row, bellhop.explain_row_of from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'bellhop_reader') then
    grant execute on function bellhop.explain_row, bellhop.explain_row_of to bellhop_reader;
  end if;
end
$$;
