-- What a job gave back, for operators and the one whose job it is. $1 id. Index: the primary key.
select j.result::text from bellhop.job j where j.id = $1
