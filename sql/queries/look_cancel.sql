-- $1 id, $2 kill at once. The state before is for words only; bellhop.cancel looks again under a lock. Index: the primary key.
select j.id, j.state as was, bellhop.cancel(j.id, $2) as state from bellhop.job j where j.id = $1
