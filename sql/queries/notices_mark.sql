-- Messages that instance $1 has sent, or tried to: $2 ids, $3 errors ('': it was sent), $4 whether another try is
-- useless, $5 after how many ms it is tried again otherwise, $6 whether the target wants none any more: then other
-- messages that wait for it are given up too. Guard: they are still this instance's; the others belong to no instance.
-- Index: the primary key; notice_receiver.
with o as (
  select * from unnest($2::bigint[], $3::text[], $4::bool[], $5::bigint[], $6::bool[]) as o (id, error, over, delay, gone)
), marked as (
  update bellhop.notice n
     set status = case when o.error = '' then 'sent' when o.over or n.until <= clock_timestamp() then 'given_up' else 'waiting' end,
         sent_at = case when o.error = '' or o.over or n.until <= clock_timestamp() then clock_timestamp() end,
         next_at = clock_timestamp() + o.delay * interval '1 ms', error = nullif(o.error, ''), instance = null
    from o
   where n.id = any ($2) and n.id = o.id and n.instance = $1 and n.status = 'waiting'
  returning n.id, n.target, n.receiver, n.error, o.gone
), gone as (
  insert into bellhop.notice_gone (target) select distinct m.target from marked m where m.gone
  on conflict do nothing
)
update bellhop.notice n set status = 'given_up', sent_at = clock_timestamp(), error = m.error
  from marked m
 where m.gone and n.status = 'waiting' and n.receiver = m.receiver and n.target = m.target and n.instance is null and n.id <> all ($2)
