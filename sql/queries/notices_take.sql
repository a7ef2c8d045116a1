-- Takes messages that are due, $3 at the most, for instance $1, which can do what is in $2. Guard: nobody alive has them, and they are not to be
-- given up. Index: notice_open; the primary keys of notice and run.
with taken as (
  update bellhop.notice n set instance = $1, tries = n.tries + 1
   where n.id = any (array(
           select x.id from bellhop.notice x
            where x.status = 'waiting' and x.next_at <= clock_timestamp() and x.until > clock_timestamp() and bellhop.tells_of($2::text[], x.needs)
              and bellhop.notice_free(x.instance, $1)
            order by x.next_at limit $3 for update skip locked))
     and n.status = 'waiting'
  returning n.*
)
select t.id, t.message::text, t.channel, t.target, t.tries, t.run, t.workflow, t.project, t.state, coalesce(t.reason, ''), t.ended_at, t.last_success,
       coalesce(r.version, 0), coalesce(r.event, ''), coalesce(r.triggered_by, ''), coalesce(r.created_at, t.ended_at), r.started_at
  from taken t left join bellhop.run r on r.id = t.run
 order by t.id
