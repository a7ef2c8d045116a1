-- Tells the instance that watches a job on its engine that a client reads its log: $1 id. For any other job it tells
-- nothing. Index: engine_job_of.
select pg_notify('bellhop_followed', $1::bigint::text)::text
 where exists (select from bellhop.remote r where r.job = $1 and r.state = 'running')
