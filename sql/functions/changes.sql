-- Changes: each verb of a caller leaves a row, in the transaction that changes something. What is refused, or changes
-- nothing, leaves none.

-- changed: records a change by the present caller. name: of the thing; NULL: all, or several.
-- Grant: none
create or replace function bellhop.changed(verb text, thing text, name text, result text) returns void
language plpgsql volatile -- whose plan is kept
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into bellhop.change (by, via, role, verb, thing, name, result)
  values (left(bellhop.actor(), 200), coalesce(bellhop.believed('bellhop.via'), 'login'), bellhop.caller(),
          changed.verb, changed.thing, left(changed.name, 500), left(changed.result, 500));
end
$$;

-- changed_job: records what has become of a job, where the state is another one, or more is to be said.
-- Grant: none
create or replace function bellhop.changed_job(verb text, id bigint, was text, now_is text, more text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if was <> now_is or more is not null then
    perform bellhop.changed(verb, 'job', changed_job.id::text,
                            concat_ws('; ', case when was <> now_is then was || ' → ' || now_is end, more));
  end if;
end
$$;

-- retain_changes: deletes changes that are older than an age (ms), and those before the newest `most`; at most 100,000
-- in one call. Returns how many. Index: the primary key, whose order is that of the times, give or take a transaction.
-- Grant: scheduler
create or replace function bellhop.retain_changes(age bigint, most bigint) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  n integer;
begin
  delete from bellhop.change c
   where c.id = any (array(
     select o.id from (select x.id, x.at from bellhop.change x order by x.id limit 100000) o
      where o.at < clock_timestamp() - age * interval '1 ms' or o.id <= (select max(x.id) from bellhop.change x) - most));
  get diagnostics n = row_count;
  return n;
end
$$;
