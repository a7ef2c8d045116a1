-- lock_heads: the locks that are held or have waiting jobs, those with the most waiting jobs first, some `most`: the
-- holder and since when, how many jobs wait (1,000 are counted), and for how many seconds the oldest does. Waiting jobs
-- are counted for at most 100 locks. For readers. Indexes: lock_grant's; jobqueue_locked, a probe for each lock and up
-- to 1,000 rows behind it.
-- Grant: reader scheduler
create or replace function bellhop.lock_heads(most integer)
returns table (level text, name text, mode text, holders bigint, job bigint, held float8, waiting bigint, oldest float8)
language sql stable security definer
set search_path = pg_catalog, bellhop, pg_temp
set jit = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with held as (
    select l.level, l.name, max(l.mode) as mode, count(*) as holders, (array_agg(l.job order by l.since))[1] as job, min(l.since) as since
      from bellhop.lock l where bellhop.is_reader() group by l.level, l.name
  ), waited as (
    select split_part(w.behind, ':', 1) as level, substr(w.behind, strpos(w.behind, ':') + 1) as name, c.n as waiting, o.since as oldest
      from bellhop.waited_for(100) w
     cross join lateral (select count(*) as n from (select from bellhop.jobqueue j
        where coalesce(j.behind, '') = w.behind and j.state = 'ready' and not j.held and j.locks is not null limit 1000) x) c
     cross join lateral (select min(h.since) as since from bellhop.heads_behind(w.behind) h) o
     where bellhop.is_reader()
  )
  select coalesce(h.level, w.level), coalesce(h.name, w.name), h.mode, coalesce(h.holders, 0), h.job,
         extract(epoch from clock_timestamp() - h.since)::float8, coalesce(w.waiting, 0), extract(epoch from clock_timestamp() - w.oldest)::float8
    from held h left join waited w on w.level = h.level and w.name = h.name
  union all
  select w.level, w.name, null, 0, null, null, w.waiting, extract(epoch from clock_timestamp() - w.oldest)::float8
    from waited w where not exists (select from held h where h.level = w.level and h.name = w.name)
   order by 7 desc, 8 desc nulls last, 1, 2
   limit lock_heads.most
$$;
