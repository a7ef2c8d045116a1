-- The jobs that are connected with one by dependencies, in whatever direction. $1 id, $2 how many at the most. Guard: bellhop.graph,
-- which shows readers all and submitters their own. Indexes: its own.
select * from bellhop.graph($1::bigint, $2::bigint)
