-- $1 id. The state before is for words only; bellhop.retry looks again under a lock. Index: the primary key.
select j.id, j.state as was, bellhop.retry(j.id) as state from bellhop.job j where j.id = $1
