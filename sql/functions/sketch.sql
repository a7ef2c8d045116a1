-- Sketches: how long jobs of a type took, and how far off forecasts were, as counts of buckets. scheduler/sketch
-- defines a bucket, and how a sketch fades; a test compares the two.

-- sketch_in: adds counts, one in each place of the arrays. A row that another transaction has locked is passed by:
-- these few counts are lost, and no command waits for them. If names come and go, the newest 1,000 are kept. Index: the
-- primary key.
-- Grant: scheduler
create or replace function bellhop.sketch_in(what text[], names text[], buckets integer[], counts integer[]) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  most constant integer := 2000; -- sketch.Most
  n    integer;
begin
  if cardinality(names) is null then
    return 0;
  end if;
  insert into bellhop.sketch (what, name)
  select distinct c.what, c.name from unnest(sketch_in.what, names) as c (what, name)
   where not exists (select from bellhop.sketch s where s.what = c.what and s.name = c.name)
   order by 1, 2
  on conflict do nothing;
  if found and (select count(*) from bellhop.sketch) > 1000 then
    delete from bellhop.sketch s
     where (s.what, s.name) in (select o.what, o.name from bellhop.sketch o order by o.at desc, o.what, o.name offset 1000);
  end if;
  with come as materialized (
    select * from unnest(sketch_in.what, names, sketch_in.buckets, sketch_in.counts) as c (what, name, bucket, n)
  ), locked as materialized (
    select s.what, s.name, s.pairs from bellhop.sketch s
     where (s.what, s.name) in (select c.what, c.name from come c)
     order by s.what, s.name for no key update skip locked
  ), both_of (what, name, bucket, n) as (
    select l.what, l.name, l.pairs[g], l.pairs[g + 1] from locked l cross join lateral generate_series(1, cardinality(l.pairs), 2) as g
    union all
    select c.what, c.name, c.bucket, c.n from come c
  ), summed as (
    select b.what, b.name, b.bucket, sum(b.n)::bigint as n from both_of b group by b.what, b.name, b.bucket
  ), upto as (
    select s.what, s.name, s.bucket, sum(s.n) over (partition by s.what, s.name order by s.bucket)::bigint as n,
           sum(s.n) over (partition by s.what, s.name)::bigint as total
      from summed s
  ), halved as ( -- as often as necessary
    select u.what, u.name, u.bucket, (u.n + (1::bigint << k.k) - 1) >> k.k as n
      from upto u
     cross join lateral (select min(g) as k from generate_series(0, 60) g
                          where (u.total + (1::bigint << g) - 1) >> g <= most) k
  ), faded as (
    select h.what, h.name, h.bucket, h.n - coalesce(lag(h.n) over (partition by h.what, h.name order by h.bucket), 0) as n from halved h
  ), packed as (
    select f.what, f.name, array_agg(p.p::integer order by f.bucket, p.at) as pairs
      from faded f cross join lateral unnest(array[f.bucket, f.n]) with ordinality as p (p, at) where f.n > 0 group by f.what, f.name
  )
  update bellhop.sketch s set pairs = p.pairs, at = clock_timestamp()
    from packed p join locked l using (what, name)
   where s.what = p.what and s.name = p.name;
  get diagnostics n = row_count;
  return n;
end
$$;
