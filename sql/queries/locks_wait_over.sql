-- Jobs that wait for locks no more: $1 jobs; and rows of jobs that are over.
-- Guard: the advisory lock of passes. Index: none, the table is small; the queue's primary key.
delete from bellhop.lock_wait w
 where w.job = any ($1::bigint[])
    or not exists (select from bellhop.jobqueue j where j.id = w.job and j.fence = w.fence and j.state in ('assigned', 'running'))
