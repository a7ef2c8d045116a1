-- Tells who watches a job on its engine that somebody reads its log: $1 id. Of any other job nothing is told. Index: engine_job_of.
select pg_notify('bellhop_followed', $1::bigint::text)::text
 where exists (select from bellhop.remote r where r.job = $1 and r.state = 'running')
