-- The promise of a job ($1). Guard: none, it only reads; readers only. Index: promise's primary key.
select p.by, p.asked_at, p.starts, p.ends, p.latest, p.certainty, p.danger_at, p.why, p.outcome, p.decided_at from bellhop.promise p where p.job = $1
