-- Messages about ends of runs, the latest first, $4 at most: of statuses $1 (NULL: all), a workflow $2 (NULL: all), a
-- run $3 (NULL: all). can: whether some live instance can send it. Index: the primary key; notice_run.
select n.id, n.message::text, n.run, n.workflow, n.state, n.channel, n.target, n.status, n.tries, n.at,
       case when n.status = 'waiting' then n.next_at end as next_at, n.until, n.instance, n.sent_at, n.error, n.needs,
       exists (select from bellhop.instance i where i.state = 'live' and bellhop.tells_of(i.tells, n.needs)) as can
  from bellhop.notice n
 where ($1::text[] is null or n.status = any ($1::text[])) and ($2::text is null or n.workflow = $2::text) and ($3::bigint is null or n.run = $3::bigint)
 order by n.id desc limit $4::bigint
