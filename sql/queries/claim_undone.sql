-- Whether a crash of the database has undone a claim: the job $1 has an older fence than $2. The dispatcher may have
-- taken the job again since: then it runs under that fence. Index: the primary key.
select true from bellhop.jobqueue j
 where j.id = $1 and (j.fence < $2 or j.fence = $2 and j.state in ('assigned', 'running'))
