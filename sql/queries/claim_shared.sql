-- Claims jobs of types with shares, each key in its turn, and jobs of types that are claimed together with them. The
-- rows come in the order in which they start.
-- $1–$12 as in claim_many.sql; $13 and $14 as $11 and $12 of claim_only.sql.
-- Guard: bellhop.claim_shared. Indexes: its own.
select j.id, j.fence, j.attempt, j.priority, j.type, j.args, j.msq, j.repeat, coalesce(j.key, ''), coalesce(j.vars::text, ''),
       coalesce(j.traceparent, ''), coalesce(extract(epoch from j.timeout) * 1000, 0)::bigint, case when j.own_attempts then -j.max_attempts else j.max_attempts end, j.deaths,
       case when j.msq is not null then coalesce(j.run_on, '') else '' end,
       j.created_at, greatest(j.created_at, j.run_at), clock_timestamp(), case when j.stepped then bellhop.steps_of(j.id)::text end
  from bellhop.claim_shared($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) j
