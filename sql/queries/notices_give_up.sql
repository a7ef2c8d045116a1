-- Gives up messages that were tried for long enough, $2 at most; none of $3, which are under way. Guard: no live
-- instance but $1 has them. Index: notice_until.
update bellhop.notice n
   set status = 'given_up', sent_at = clock_timestamp(), instance = null,
       error = coalesce(n.error, 'no instance that ran could send it: it needs ' || n.needs)
 where n.id = any (array(select x.id from bellhop.notice x
                          where x.status = 'waiting' and x.until <= clock_timestamp() and bellhop.notice_free(x.instance, $1) and x.id <> all ($3::bigint[])
                          order by x.until limit $2 for update skip locked))
   and n.status = 'waiting'
returning n.id, n.run, n.channel, n.target, n.error
