-- Deletes those of the next $2 jobs behind id $1 that are old enough: $3 types ('': all others), $4 states, $5 ages in
-- ms (NULL: for ever), $6 the age for jobs with a key (NULL: never), $7 the table that gets them first. Guard: they are
-- over, and no job needs them. Index: the queue's primary key.
select r.deleted, r.last from bellhop.retain_jobs($1, $2, $3::text[], $4::text[], $5::bigint[], $6::bigint, $7) r
