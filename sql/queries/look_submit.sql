-- $1 type, $2 args, $3 msq, $4 repeat, $5 run_on, $6 key, $7 priority, $8 priority_name, $9 run_at, $10 or this many ms
-- from now on the database's clock, $11 held, $12 vars, $13 locks, $14 max_attempts, $15 timeout in ms,
-- $16 on_failure, $17 ids and $18 keys of the needed jobs, $19 the wanted outcomes of those, $20 traceparent,
-- $21 for how long its key is taken (NULL: ever), $22 of what period in ms, $23 whether it replaces a waiting job,
-- $24 until when it has to begin, $25 or this many ms from now on,
-- $26 its batch, $27 the tags by which filters know it.
select bellhop.submit(
  type => $1, args => $2, msq => $3, repeat => $4, run_on => $5, key => $6, priority => $7::int, priority_name => $8,
  run_at => coalesce($9::timestamptz, clock_timestamp() + $10::bigint * interval '1 ms'),
  held => $11, vars => $12::jsonb, locks => $13::text[], max_attempts => $14::int, timeout => $15::bigint * interval '1 ms',
  on_failure => coalesce($16, 'fail'), after => $17::bigint[], after_keys => $18::text[], wanted => coalesce($19::text[], '{succeeded}'), traceparent => $20,
  once => coalesce($21, 'ever'), per => $22::bigint * interval '1 ms', replace => $23::boolean,
  not_after => coalesce($24::timestamptz, clock_timestamp() + $25::bigint * interval '1 ms'), batch => $26::bigint, reasons => $27::text[])
