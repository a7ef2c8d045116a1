-- What became of messages that instance $1 has sent, or tried to: $2 ids, $3 errors ('': it was sent), $4 whether there is no use in trying again,
-- $5 after how many ms it is tried again otherwise. Guard: they are still this instance's. Index: the primary key.
update bellhop.notice n
   set status = case when o.error = '' then 'sent' when o.over or n.until <= clock_timestamp() then 'given_up' else 'waiting' end,
       sent_at = case when o.error = '' or o.over or n.until <= clock_timestamp() then clock_timestamp() end,
       next_at = clock_timestamp() + o.delay * interval '1 ms', error = nullif(o.error, ''), instance = null
  from unnest($2::bigint[], $3::text[], $4::bool[], $5::bigint[]) as o (id, error, over, delay)
 where n.id = any ($2) and n.id = o.id and n.instance = $1 and n.status = 'waiting'
