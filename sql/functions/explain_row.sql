-- rows_before: whether an attached table has a row with this key, whether that row asks to be run, and how many asking
-- rows come before it, counted up to 10,000. It reads the user's table with the caller's rights: code of others may
-- run, as when the caller selects from the table by hand. NULL for all: the caller may not read it.
-- Grant: reader
create or replace function bellhop.rows_before(attachment bigint, key text, out there boolean, out asks boolean, out before integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC' set "DateStyle" = 'ISO, MDY' set "IntervalStyle" = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1
as $$
#variable_conflict use_column
declare
  a   bellhop.attachment;
  ky  record;
  tab text;
  col text;
  own text; -- the key of a row that comes before
begin
  select x.rel, x.key_columns, x.dispatch_column into a.rel, a.key_columns, a.dispatch_column from bellhop.attachment x where x.id = rows_before.attachment;
  if not has_table_privilege(a.rel::oid, 'select') then
    return;
  end if;
  tab := case (select c.relkind from pg_class c where c.oid = a.rel::oid) when 'r' then 'only ' else '' end || a.rel::text;
  select quote_ident(c.attname) into col from pg_attribute c where c.attrelid = a.rel and c.attnum = a.dispatch_column;
  select * into ky from bellhop.attached_key(a.rel, a.key_columns);
  select string_agg(format('o.%I', c.attname), ', ' order by k.o) into own
    from unnest(a.key_columns) with ordinality k (n, o) join pg_attribute c on c.attrelid = a.rel and c.attnum = k.n;
  execute format('select true, t.%1$s is null, (select pg_catalog.count(*) from (select from %2$s o where o.%1$s is null and (%3$s) < (%4$s) limit 10000) x)::pg_catalog.int4
                    from (select $1 as key) d %5$s join %2$s t on %6$s',
                 col, tab, own, ky.ordering, ky.parsed, ky.matches)
     into there, asks, before using rows_before.key;
  there := coalesce(there, false);
exception
  when insufficient_privilege then
    there := null; asks := null; before := null;
  when data_exception then -- not a key of that table
    there := false;
end
$$;

-- explain_row: why a row of an attached table does not run, in the form of bellhop.explanation. The words are in
-- bellhop.causes. Index: attachment_name_key; the primary keys of attached and set_aside; attached_live; the index of
-- the table's key, and any index of the table for rows that ask.
-- Grant: reader
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
  n      bigint; -- how many places are taken
  early  bigint; -- how many rows were taken ahead; for a row that was itself, how many before it
  it     record; -- the row
  ahead  bigint; -- how many come before it
  rate   real;
  cause  text;
  args   jsonb;
begin
  select x.id, x.name, x.rel, x.pool, x.state, x.trouble, x.waiting, x.rate, x.rate_since, x.rate_ended
    into a.id, a.name, a.rel, a.pool, a.state, a.trouble, a.waiting, a.rate, a.rate_since, a.rate_ended
    from bellhop.attachment x where x.id = explain_row_of.attachment;
  select x.job, x.live, x.ahead into mine.job, mine.live, mine.ahead from bellhop.attached x where x.attachment = a.id and x.digest = hash;
  select j.state into state from bellhop.job j where j.id = mine.job;
  over := state in ('succeeded', 'failed', 'cancelled', 'quarantined');
  select * into aside from bellhop.set_aside x where x.attachment = a.id and x.digest = hash;
  select count(*) filter (where x.ahead is null), count(*) filter (where x.ahead < coalesce(case when mine.live then mine.ahead end, x.ahead + 1)) into n, early
    from bellhop.attached x join bellhop.job j on j.id = x.job
   where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined');
  -- The trouble of its last turn is not enough: there may have been no turn since.
  a.trouble := coalesce(bellhop.turn_trouble(a.id), case when a.state = 'broken' then a.trouble end);
  select null::boolean as there, null::boolean as asks, null::integer as before into it;
  if a.trouble is null and not coalesce(mine.live and not over, false) then
    it := bellhop.rows_before(a.id, explain_row_of.key);
  end if;
  rate := bellhop.rows_rate(a.rate, a.rate_since, a.rate_ended);
  ahead := case when mine.live and not over then early when it.before < 10000 then it.before + early else it.before end;
  args := jsonb_build_object('name', a.name, 'job', mine.job, 'state', state, 'pool', a.pool, 'more', a.pool + 1, 'key', explain_row_of.key,
    'why', coalesce(aside.reason, a.trouble), 'times', aside.times, 'at', bellhop.clock(aside.again_at),
    'queue', case when it.there is null and not coalesce(mine.live and not over, false)
                    then case when a.waiting > 10000 then 'More than 10000 rows wait.' else format('Rows that wait: %s.', coalesce(a.waiting, 0)) end
                  else concat(case when it.before >= 10000 then 'At least 10000 rows come' when ahead = 1 then '1 row comes' else ahead || ' rows come' end,
                              ' before it, in the order of their keys. ',
                              case when rate is null then 'When it starts cannot be told: no row has ended in the last minute.'
                                   else format('At %s rows a second, as in the last few seconds, it starts in %s %s s.',
                                               case when rate < 10 then round(rate::numeric, 1) else round(rate::numeric) end,
                                               case when it.before >= 10000 then 'no less than' else 'about' end, ceil(ahead / rate)) end) end,
    'table', case when a.rel::text ~ '^[a-z0-9_.]+$' then a.rel::text else quote_literal(a.rel::text) end); -- for a shell

  cause := case
    when a.trouble is not null then 'attachment_broken'
    when not exists (select from bellhop.instance i where i.state = 'live') then 'no_instance'
    when mine.live and not over and mine.ahead is not null then 'pool_full/ahead'
    when mine.live and not over then 'row_has_job'
    when mine.live and over and aside.outcome then 'outcome_pending/refused'
    when mine.live and over then 'outcome_pending'
    when aside.reason is not null and not aside.outcome then 'row_set_aside'
    when not it.asks then case when state is not null then 'row_ran' else 'row_ran/never' end
    when a.pool = 0 then 'pool_paused'
    when it.there and ahead > 0 and n < a.pool then 'row_waits'
    when n >= a.pool and it.there is distinct from false then 'pool_full'
    when state is not null and it.asks is null then 'row_ran'
    when exists (select from pg_inherits i join pg_class c on c.oid = i.inhparent and c.relkind = 'r' where i.inhparent = a.rel::oid)
      then 'not_taken/inherited'
    when it.there then 'not_taken'
    when it.there is null then 'not_taken/unread'
    else 'not_taken/missing' end;
  if cause = 'attachment_broken' then
    args := args || jsonb_build_object('why', a.trouble);
  elsif cause = 'not_taken/inherited' then
    args := args || jsonb_build_object('children', (select string_agg(i.inhrelid::regclass::text, ', ') from pg_inherits i where i.inhparent = a.rel::oid));
  end if;
  return query select * from bellhop.reason(cause, args);
end
$$;

-- Grant: reader
create or replace function bellhop.explain_row(name text, key text) returns table (code text, sentence text, next text)
language sql stable
begin atomic
  select e.code, e.sentence, e.next from bellhop.explain_row_of(bellhop.attachment_named(name), key) e;
end;
