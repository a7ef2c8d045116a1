-- The children of an instance as they are now: a statement replaces all of them.
-- $1 instance, then arrays.
with gone as (
  delete from bellhop.child c where c.instance = $1 and not ((c.host, c.name) in (select * from unnest($2::text[], $3::text[])))
)
insert into bellhop.child (instance, host, name, type, state, pid, job, since, done, deaths)
select $1, c.host, c.name, c.type, c.state, nullif(c.pid, 0), nullif(c.job, 0), clock_timestamp() - c.ago * interval '1 ms', c.done, c.deaths
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
    as c (host, name, type, state, pid, job, ago, done, deaths)
on conflict (instance, host, name) do update
   set type = excluded.type, state = excluded.state, pid = excluded.pid, job = excluded.job, since = excluded.since,
       done = excluded.done, deaths = excluded.deaths
