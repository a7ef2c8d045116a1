-- graph: the jobs that dependencies connect with one job, in either direction; at most this many are looked at. It
-- considers the jobs that the caller sees: readers all, submitters their own. Indexes: dependency's primary key;
-- dependency_needs; the queue's primary key.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.graph(of bigint, most bigint)
returns table (id bigint, key text, type text, state text, exit_code integer, error text, waiting_for text)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with recursive way (id) as (
    select graph.of
    union
    select x.id
      from way w
     cross join lateral (select d.needs as id from bellhop.dependency d where d.job = w.id
                         union all
                         select d.job from bellhop.dependency d where d.needs = w.id) x
  )
  select j.id, j.key, j.type, j.state, j.exit_code, j.error, j.waiting_for
    from (select w.id from way w limit graph.most) p
   -- one by one: a hash would be of the whole queue
   cross join lateral (select * from bellhop.job q where q.id = p.id offset 0) j
   order by j.id
$$;

-- edges: the dependencies among these jobs, as far as the caller sees the jobs. Indexes: dependency's primary key; the
-- queue's.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.edges(ids bigint[]) returns table (job bigint, needs bigint, wanted text[], met boolean)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  with seen as materialized (
    select x.id from unnest(edges.ids) x (id) where exists (select from bellhop.job j where j.id = x.id offset 0)
  )
  select d.job, d.needs, d.wanted, d.met
    from bellhop.dependency d
   where d.job = any (array(select s.id from seen s)) and d.needs = any (array(select s.id from seen s))
   order by d.job, d.needs
$$;
