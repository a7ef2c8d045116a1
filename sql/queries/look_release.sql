-- $1 id. The state before is for words only; bellhop.release looks again under a lock. Index: the primary key.
select j.id, case when j.held and j.state in ('blocked', 'scheduled', 'ready') then 'held' else j.state end as was, bellhop.release(j.id) as state from bellhop.job j where j.id = $1
