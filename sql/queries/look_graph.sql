-- The jobs that dependencies connect with one job, in either direction. $1 id, $2 how many at most. Guard:
-- bellhop.graph, which shows readers all and submitters their own. Indexes: its own.
select * from bellhop.graph($1::bigint, $2::bigint)
