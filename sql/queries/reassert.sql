-- After a lost connection, before the next claim or outcome. A claim is committed asynchronously, so a crash of the
-- database can have undone it: jobs that still run here are taken again under their own fence, unless another instance
-- has them.
-- $1 instance, $2 ids, $3 fences, $4 attempts, $5 hosts, $6 when each job was submitted.
-- Guard: it is the same row (another server can have given the id again: submitters cannot set created_at), as it was before
-- the claim and not claimed since (fences grow), and this instance lives. Locks are lost with the claim that got them: a job that
-- wants some is not taken again. Index: the primary key.
update bellhop.jobqueue j
   set state = 'running', instance = $1, host = o.host, fence = o.fence, attempt = o.attempt, spawned_at = null,
       started_at = coalesce(j.started_at, clock_timestamp()),
       attempt_at = case when j.started_at is not null then clock_timestamp() end
  from unnest($2::bigint[], $3::bigint[], $4::int[], $5::text[], $6::timestamptz[]) as o (id, fence, attempt, host, created_at)
 where exists (select 1 from bellhop.instance i where i.id = $1 and i.state = 'live')
   and j.id = any ($2) and j.id = o.id and j.created_at = o.created_at
   and j.state = 'ready' and j.fence < o.fence and j.attempt = o.attempt - 1 and j.locks is null
returning j.id
