-- The values with which jobs were submitted, for operators and the job's submitter. $1 ids, $2 how many characters of
-- each text (NULL: all). Guard: none, it only reads. Index: the primary key.
select j.id, coalesce(left(j.args, $2::int), j.args) as args, coalesce(left(j.msq, $2::int), j.msq) as msq, j.repeat, j.vars, j.timeout::text as timeout, j.held, j.successes, j.deaths
  from bellhop.payload j
 where j.id = any ($1::bigint[])
