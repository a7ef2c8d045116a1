-- `bellhop workflow runs`: runs from id $1 down, past $2, the newest first, $3 at most. $4 patterns of LIKE for
-- workflows, $5 their project, $6 states, $7 patterns for triggered_by, $8 created since, $9 created before; NULL: any.
-- Also runs of deleted workflows, which have no project. $10 one workflow, by its exact name. Guard: $1 and $2 bound
-- what is read. Index: run's primary key, backwards.
select r.id, r.workflow, r.version, r.event, r.triggered_by, r.state, r.created_at, r.started_at, r.ended_at, r.reason
  from bellhop.run r
 where r.id <= $1::bigint and r.id > $2::bigint
   and ($10::text is null or r.workflow = $10::text) and ($4::text[] is null or r.workflow ilike any ($4::text[]))
   and ($5::text is null or exists (select from bellhop.workflow w where w.name = r.workflow and w.project = $5::text))
   and ($6::text[] is null or r.state = any ($6::text[])) and ($7::text[] is null or r.triggered_by ilike any ($7::text[]))
   and ($8::timestamptz is null or r.created_at >= $8::timestamptz) and ($9::timestamptz is null or r.created_at < $9::timestamptz)
 order by r.id desc limit $3::bigint
