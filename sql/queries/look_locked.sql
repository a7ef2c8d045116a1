-- How many ready jobs ask for locks, counted to $1: a forecast that sees fewer of them knows that there are more. Guard:
-- readers only (every_job). Index: jobqueue_locked.
select count(*)::integer from (select from bellhop.every_job j where j.state = 'ready' and not j.held and j.locks is not null limit $1) x
