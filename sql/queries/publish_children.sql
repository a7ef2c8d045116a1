-- The children of an instance as they are now: a statement replaces all of them. With them, the bounds that its hosts
-- have hit, where they are others than before.
-- $1 instance, then arrays; $14 the bounds by host. Index: the primary keys.
with hit as (
  update bellhop.host h set bounds = b.value from jsonb_each($14::jsonb) b
   where h.instance = $1 and h.name = b.key and h.bounds is distinct from b.value
), gone as (
  delete from bellhop.child c where c.instance = $1 and not ((c.host, c.name) in (select * from unnest($2::text[], $3::text[])))
)
insert into bellhop.child (instance, host, name, type, state, pid, job, since, done, deaths, kept_until, kept_from, kept_by)
select $1, c.host, c.name, c.type, c.state, nullif(c.pid, 0), nullif(c.job, 0), clock_timestamp() - c.ago * interval '1 ms', c.done, c.deaths,
       case when c.kept > 0 then clock_timestamp() + c.kept * interval '1 ms' end, nullif(c.kept_from, ''), nullif(c.kept_by, '')
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
              $11::bigint[], $12::text[], $13::text[]) as c (host, name, type, state, pid, job, ago, done, deaths, kept, kept_from, kept_by)
on conflict (instance, host, name) do update
   set type = excluded.type, state = excluded.state, pid = excluded.pid, job = excluded.job, since = excluded.since,
       done = excluded.done, deaths = excluded.deaths, kept_until = excluded.kept_until, kept_from = excluded.kept_from, kept_by = excluded.kept_by
