-- What a forecast knows of shares (shares.sql), besides the jobs that locks.sql and lock_beside.sql show it.

-- share_beside: the jobs with a share and without locks that wait for a slot: about `most`, the first ones of each of up
-- to 1,000 keys, and as many more as there is room for. For readers. Indexes: jobqueue_shared, a probe and a range for
-- each key.
-- Grant: reader scheduler
create or replace function bellhop.share_beside(most integer)
returns table (job bigint, type text, priority integer, share text, age float8)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with recursive k as (
    (select j.type, coalesce(j.run_on, '') as place, j.priority, j.share, 1 as n from bellhop.jobqueue j
      where j.share is not null and j.state = 'ready' and not j.held and j.locks is null and bellhop.is_reader()
      order by j.type, coalesce(j.run_on, ''), j.priority, j.share limit 1)
    union all
    select f.type, f.place, f.priority, f.share, k.n + 1
      from k
     cross join lateral (
       select j.type, coalesce(j.run_on, '') as place, j.priority, j.share from bellhop.jobqueue j
        where j.share is not null and j.state = 'ready' and not j.held and j.locks is null
          and (j.type, coalesce(j.run_on, ''), j.priority, j.share) > (k.type, k.place, k.priority, k.share)
        order by j.type, coalesce(j.run_on, ''), j.priority, j.share limit 1) f
     where k.n < 1000
  ), part as materialized (
    select k.type, k.priority, k.share, greatest(share_beside.most / count(*) over (), 1) as jobs from k
     where k.place = '' and k.type = any (array(select s.type from bellhop.types_that_start() s))
  ), first as materialized (
    select f.id, p.type, p.priority, p.share, f.created_at
      from part p
     cross join lateral (
       select j.id, j.created_at from bellhop.jobqueue j
        where j.share = p.share and j.state = 'ready' and not j.held and j.locks is null
          and j.type = p.type and coalesce(j.run_on, '') = '' and j.priority = p.priority
        order by j.id limit p.jobs) f
  ), more as (
    select m.id, p.type, p.priority, p.share, m.created_at
      from part p
     cross join lateral (
       select j.id, j.created_at from bellhop.jobqueue j
        where j.share = p.share and j.state = 'ready' and not j.held and j.locks is null
          and j.type = p.type and coalesce(j.run_on, '') = '' and j.priority = p.priority
        order by j.id offset p.jobs limit share_beside.most) m
     limit greatest(share_beside.most - (select count(*) from first), 0)
  )
  select x.id, x.type, x.priority::integer, x.share, extract(epoch from statement_timestamp() - x.created_at)::float8
    from (table first union all table more) x
$$;

-- share_standing: the keys of the lines of jobs without a place, at most so many, and the lines' virtual time. began:
-- the key has had a start since it came. For readers. Indexes: share_line's and share_clock's primary keys.
-- Grant: reader scheduler
create or replace function bellhop.share_standing(most integer)
returns table (type text, priority integer, now float8, name text, weight float8, tag float8, began boolean, came bigint, idle boolean)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
as $$
  select l.type, l.priority::integer, c.now, l.share, coalesce(s.weight, 1)::float8, l.tag, l.turn > 0, l.came, l.idle
    from bellhop.share_line l
    join bellhop.share_clock c on c.type = l.type and c.place = l.place and c.priority = l.priority
    left join bellhop.share s on s.type = l.type and s.name = l.share
   where l.place = '' and bellhop.is_reader()
   order by l.type, l.priority, l.share limit share_standing.most
$$;
