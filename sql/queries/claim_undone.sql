-- Whether a crash of the database has undone a claim: the job $1 has an older fence than $2. Index: the primary key.
select true from bellhop.jobqueue j where j.id = $1 and j.fence < $2
