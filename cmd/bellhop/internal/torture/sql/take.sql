-- The next job of the app. $1 the lease in milliseconds. Guard: bellhop.take.
select t.id, t.fence, t.attempt, t.args from bellhop.take(array['taken'], 1, $1::bigint * interval '1 ms') t
