-- Jobs with locks that no pass has put behind a lock, and whose waiting_for does not say why they wait: each with its reason (NULL:
-- none is known, the next pass may take it). Of each type the first $1 are looked at. The reasons come in the order of
-- bellhop.explanation: a held lock, a filter that pauses, and what hinders every job of its type. One probe for each type, one read
-- of all grants, one hindrance for each type and name in run_on. Guard: none, it only reads. Index: jobqueue_locked.
with recursive t as (
  (select j.type from bellhop.jobqueue j
    where coalesce(j.behind, '') = '' and j.state = 'ready' and not j.held and j.locks is not null order by j.type limit 1)
  union all
  select (select j.type from bellhop.jobqueue j
           where coalesce(j.behind, '') = '' and j.state = 'ready' and not j.held and j.locks is not null and j.type > t.type order by j.type limit 1)
    from t where t.type is not null
), strict as materialized (
  select exists (select 1 from bellhop.instance i join bellhop.host h on h.instance = i.id
                  where i.state = 'live' and (h.only_priorities is not null or h.only_names is not null)) as is
), f as materialized (
  select q.id, q.type, q.run_on, q.waiting_for, q.row, bellhop.wanted_locks(q.locks, q.waiting_for, null) as wants,
         case when strict.is then q.priority end as priority, case when strict.is then q.priority_name end as priority_name
    from t, strict
   cross join lateral (
     select j.id, j.type, j.run_on, j.priority, j.priority_name, j.locks, j.waiting_for, j as row from bellhop.jobqueue j
      where coalesce(j.behind, '') = '' and j.type = t.type and j.state = 'ready' and not j.held and j.locks is not null
      order by j.priority, j.id limit $1) q
   where t.type is not null
), w as materialized (
  select f.id, u.want from f cross join lateral unnest(f.wants) as u (want)
), holder as materialized (
  select h.job, h.want, h.held from bellhop.lock_holders(array(select distinct w.want from w)) h where exists (select from bellhop.lock_grant)
), lock_held as materialized ( -- a reason in the row stays while it is true
  select distinct on (f.id) f.id, x.why
    from f
    join w on w.id = f.id
    join holder h on h.want = w.want and h.job <> f.id
   cross join lateral (select format('lock_held: %s, and job %s has %s', h.want, h.job, h.held) as why) x
   order by f.id, (x.why is not distinct from f.waiting_for) desc, h.job, h.want, h.held
), hindered as materialized (
  select g.type, g.run_on, g.priority, g.priority_name, split_part(h.cause, '/', 1) || coalesce(': ' || h.detail, '') as why,
         exists (select 1 from bellhop.jobqueue j
                  where j.type = g.type and j.state in ('assigned', 'running') and coalesce(j.attempt_at, j.started_at) > clock_timestamp() - interval '2 s')
           as flows
    from (select distinct f.type, f.run_on, f.priority, f.priority_name from f) g
   cross join lateral bellhop.hindrance(g.type, g.run_on, g.priority, g.priority_name) h
)
select f.id, r.why
  from f
  join hindered h on h.type = f.type and h.run_on is not distinct from f.run_on
                 and h.priority is not distinct from f.priority and h.priority_name is not distinct from f.priority_name
  left join lock_held l on l.id = f.id
  left join lateral (
    select format('filter_paused: filter %s pauses it', a.id) as why from bellhop.applying_filter(f.row) a
     where exists (select from bellhop.filter) and a.action = 'PAUSE') p on true
 cross join lateral (select coalesce(l.why, p.why, h.why) as why) r
 where r.why is distinct from f.waiting_for
   -- If its type moves, the first job may start before this is written.
   and not (h.flows and (r.why = 'no_room' or r.why like 'exclusive%') and coalesce(f.waiting_for, '') not like 'lock%')
