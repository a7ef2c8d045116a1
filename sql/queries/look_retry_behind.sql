-- Retries a job and the jobs behind it: $1 id. Guard: operators only, under locks on all of them. Indexes: the primary
-- key; dependency_needs.
select bellhop.retry_behind($1::bigint)
