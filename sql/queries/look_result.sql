-- A job's result, for operators and the job's submitter. $1 id. Index: the primary key.
select j.result::text from bellhop.job j where j.id = $1
