-- $1 ids, and the changes (NULL: none): $2 priority, $3 priority_name, $4 run_at, $5 or this many ms from now on the
-- database's clock, $6 args, $7 max_attempts, $8 timeout in ms, $9 hold, $10 not_after, $11 or this many ms from now
-- on, $12 run_on, $13 vars, $14 msq, $15 on_failure. The state before is for words only; bellhop.edit looks again under
-- a lock. Index: the primary key.
select j.id, j.was,
       bellhop.edit(j.id, priority => $2::int, priority_name => $3, run_at => coalesce($4::timestamptz, clock_timestamp() + $5::bigint * interval '1 ms'),
                    args => $6, max_attempts => $7::int, timeout => $8::bigint * interval '1 ms', hold => $9::boolean,
                    not_after => coalesce($10::timestamptz, clock_timestamp() + $11::bigint * interval '1 ms'), run_on => $12, vars => $13::jsonb,
                    msq => $14, on_failure => $15) as state
  from (select q.id, q.state as was from bellhop.job q where q.id = any ($1::bigint[]) order by q.id offset 0) j
