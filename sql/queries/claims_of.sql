-- Which of these jobs this instance holds according to the database: what claims.sql says of them, without a walk.
-- $1 instance, $2 ids. Guard: none, it only reads. Index: the primary key; `|| ''` prevents use of jobqueue_taken,
-- which still has all rows that ran since the last VACUUM.
select j.id, j.fence, j.cancel_requested, j.cancel_now
  from bellhop.jobqueue j
 where j.id = any ($2) and j.instance = $1 and j.state || '' in ('assigned', 'running')
