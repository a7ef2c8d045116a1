-- Takes due messages, $3 at most, for instance $1, which can send what $2 names; none of $4, which it has under way
-- already; of each receiver $7 at most, and of those named in $5 as many as $6 says. Guard: no live instance has them,
-- and they are not to be given up. Index: notice_receiver, one receiver after the other; the primary keys of notice and
-- run.
with recursive receiver (name) as (
  (select x.receiver from bellhop.notice x where x.status = 'waiting' order by x.receiver limit 1)
  union all
  select (select x.receiver from bellhop.notice x where x.status = 'waiting' and x.receiver > r.name order by x.receiver limit 1)
    from receiver r where r.name is not null
), taken as (
  update bellhop.notice n set instance = $1, tries = n.tries + 1
   where n.id = any (array(
           select due.id from receiver r
             left join unnest($5::text[], $6::int[]) as full_ (name, room) on full_.name = r.name
            cross join lateral (
              select x.id, x.next_at from bellhop.notice x
               where x.status = 'waiting' and x.receiver = r.name and x.next_at <= clock_timestamp() and x.until > clock_timestamp()
                 and bellhop.tells_of($2::text[], x.needs) and bellhop.notice_free(x.instance, $1) and x.id <> all ($4::bigint[])
               order by x.next_at limit coalesce(full_.room, $7) for update skip locked) due
            where r.name is not null
            order by due.next_at limit $3))
     and n.status = 'waiting'
  returning n.*
)
select t.id, t.message::text, t.channel, t.target, t.tries, t.receiver, t.run, t.workflow, t.project, t.state, coalesce(t.reason, ''), t.ended_at,
       t.last_success, coalesce(r.version, 0), coalesce(r.event, ''), coalesce(r.triggered_by, ''), coalesce(r.created_at, t.ended_at), r.started_at
  from taken t left join bellhop.run r on r.id = t.run
 order by t.id
