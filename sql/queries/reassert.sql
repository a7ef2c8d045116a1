-- After a lost connection, before the next claim or outcome. A claim is committed asynchronously, so a crash of the
-- database can have undone it: what still runs here is taken again under its own fence, unless somebody else has it.
-- $1 instance, $2 ids, $3 fences, $4 attempts, $5 hosts.
-- Guard: the row is as it was before the claim, and this instance lives. Index: the primary key.
update bellhop.jobqueue j
   set state = 'running', instance = $1, host = o.host, fence = o.fence, attempt = o.attempt, spawned_at = null,
       started_at = coalesce(j.started_at, clock_timestamp()),
       attempt_at = case when j.started_at is not null then clock_timestamp() end
  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::text[]) as o (id, fence, attempt, host)
 where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live')
   and j.id = any ($2) and j.id = o.id and j.state = 'ready' and j.fence = o.fence - 1 and j.attempt = o.attempt - 1
returning j.id
