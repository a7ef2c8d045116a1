-- Cancels the jobs $1, each since the rule $2 rejects it. Guard: bellhop.filter_reject: the job waits. Index: the
-- primary key.
select bellhop.filter_reject(r.job, r.rule) from unnest($1::bigint[], $2::text[]) as r (job, rule)
