-- refuse_cycles: raises an error if jobs wait for each other, now that these have new dependencies. The message prints
-- which job needs which. With give_up the jobs on the cycle fail instead: their triggers were disabled, and no caller
-- is there to be told.
-- Grant: scheduler
create or replace function bellhop.refuse_cycles(jobs bigint[], give_up boolean default false) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  start   bigint[];
  nodes   bigint[]; -- by number, from 1
  behind  integer[]; -- jobs that need others, grouped by the job that they need
  first   integer[]; -- where the group of each begins in behind
  left_of integer[]; -- how many needs each has that may still end
  queue   integer[] := '{}';
  at      integer := 1;
  n       integer;
  i       integer;
  k       integer;
  ahead   integer[]; -- of each that is left, one that it needs
  walk    bigint[] := '{}';
  words   text;
begin
  -- A cycle that came just now leads through one of these, and another job needs that one.
  start := array(select j.id from unnest(jobs) as j (id) where exists (select from bellhop.dependency d where d.needs = j.id and not d.met));
  if start = '{}' then
    return;
  end if;
  nodes := array(select w from bellhop.needed_by_way(start) w order by w);
  -- A cycle leads up at one place at least, and down at another, in the order of the ids. Mostly all dependencies lead
  -- one way.
  if (select count(distinct d.needs > d.job) from bellhop.dependency d where d.job = any (nodes) and not d.met) < 2 then
    return;
  end if;
  -- Take away the jobs that need nothing, then those that need only these, and so on: linear in jobs and dependencies.
  n := cardinality(nodes);
  with node as materialized (
    select x.id, x.o::integer as i from unnest(nodes) with ordinality as x (id, o)
  ), edge as materialized (
    select a.i as job, b.i as needs
      from bellhop.dependency d
      join node a on a.id = d.job
      join node b on b.id = d.needs
     where d.job = any (nodes) and not d.met
  )
  select array(select e.job from edge e order by e.needs),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.needs, count(*) as many from edge e group by e.needs) c on c.needs = x.i order by x.i),
         array(select coalesce(c.many, 0)::integer from node x left join (select e.job, count(*) as many from edge e group by e.job) c on c.job = x.i order by x.i)
    into behind, first, left_of;
  k := 1;
  for i in 1 .. n loop
    k := k + first[i];
    first[i] := k - first[i];
    if left_of[i] = 0 then
      queue := queue || i;
    end if;
  end loop;
  first := first || k;
  while at <= cardinality(queue) loop
    i := queue[at];
    at := at + 1;
    for k in first[i] .. first[i + 1] - 1 loop
      left_of[behind[k]] := left_of[behind[k]] - 1;
      if left_of[behind[k]] = 0 then
        queue := queue || behind[k];
      end if;
    end loop;
  end loop;
  if cardinality(queue) = n then
    return;
  end if;
  -- Each job that is left needs another that is left: follow them until one comes again.
  ahead := array_fill(0, array[n]);
  for i in 1 .. n loop
    if left_of[i] > 0 then
      at := i;
      for k in first[i] .. first[i + 1] - 1 loop
        ahead[behind[k]] := i;
      end loop;
    end if;
  end loop;
  while left_of[at] >= 0 loop
    left_of[at] := -1; -- been there
    at := ahead[at];
  end loop;
  i := ahead[at];
  k := at; -- the lowest id on the cycle, to begin with
  while i <> at loop
    k := least(k, i);
    i := ahead[i];
  end loop;
  i := k;
  loop
    walk := walk || nodes[i];
    i := ahead[i];
    exit when i = k;
  end loop;
  walk := walk || nodes[k];
  words := (select string_agg(bellhop.job_name(w), ' needs ' order by o) from unnest(walk) with ordinality as x (w, o) where o <= 30);
  if cardinality(walk) > 30 then
    words := words || format(' … (%s jobs in all)', cardinality(walk) - 1);
  end if;
  if not give_up then
    raise check_violation using message = 'these jobs would wait for each other for ever: ' || words, constraint = 'dependency_no_cycle', table = 'dependency',
      hint = 'Leave out one of these dependencies.';
  end if;
  update bellhop.jobqueue j
     set state = 'failed', unmet = null, ended_at = clock_timestamp(), error = 'these jobs wait for each other for ever: ' || words, waiting_for = null
   -- held too: no instance looks again when it is released
   where j.id = walk[1] and j.state in ('held', 'blocked', 'scheduled', 'ready');
  perform bellhop.ended(walk[1:1]);
end
$$;

-- needed_by_way: all jobs that these need, directly or through others, and that have not ended as wanted; these jobs
-- are among them. One index probe for each.
-- Grant: scheduler
create or replace function bellhop.needed_by_way(ids bigint[]) returns setof bigint
language sql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off
as $$
  with recursive way (id) as (
    select unnest(ids)
    union
    select d.needs from way w join bellhop.dependency d on d.job = w.id and not d.met
  )
  select id from way
$$;

-- needs_by_way: all jobs that these wait for, directly or through others. One of these is in it only if another of them
-- waits for it.
-- Grant: scheduler
create or replace function bellhop.needs_by_way(ids bigint[]) returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array(select distinct d.needs from bellhop.needed_by_way(ids) w join bellhop.dependency d on d.job = w and not d.met)
$$;
