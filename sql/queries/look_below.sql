-- What becomes of the jobs that need these ($1), directly or through others, if these are cancelled: at most $2 of
-- them. Guard: bellhop.below, which shows readers all and submitters their own. Indexes: those of bellhop.below.
select * from bellhop.below($1::bigint[], $2::integer)
