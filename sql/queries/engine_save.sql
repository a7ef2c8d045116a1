-- Writes the state of remote jobs. $1 instance, then arrays: $2 ids, $3 fences (of the claim that watches now), $4
-- tags,
-- $5 states, $6 the engine's names, $7 stages, $8 how long ago each was first seen running, in ms (NULL: not yet), $9 how it
-- ended, $10 exit codes, $11 reasons, $12 the engine's words.
-- Guard: the job is still ours under this fence; nothing is ever less over. Index: the primary keys.
-- Synchronous: an outcome is written only after this.
update bellhop.engine_job e
   set state = o.state, instance = $1, engine_id = coalesce(nullif(o.engine_id, ''), e.engine_id), stage = nullif(o.stage, ''),
       ran_at = coalesce(e.ran_at, clock_timestamp() - o.ran * interval '1 ms'), how = nullif(o.how, ''),
       exit_code = case when o.how <> '' then o.exit_code end, reason = nullif(o.reason, ''), said = nullif(o.said, ''),
       ended_at = case when o.how <> '' then coalesce(e.ended_at, clock_timestamp()) end, changed_at = clock_timestamp()
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::int[],
              $11::text[], $12::text[])
    as o (job, fence, tag, state, engine_id, stage, ran, how, exit_code, reason, said)
  join bellhop.jobqueue j on j.id = o.job
 where e.tag = o.tag and e.state in ('submitting', 'running', 'ended')
   and j.fence = o.fence and j.instance = $1 and j.state || '' in ('running', 'assigned')
