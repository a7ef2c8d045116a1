-- Inserts jobs and returns their ids, in their order, all of them or none: $1 an array of objects under the names of
-- client.copied, JSON. Guard: the constraints of an INSERT, and the caller's rights on its columns. Index: those of
-- jobqueue.
insert into bellhop.jobqueue (type, args, msq, repeat, run_on, key, priority, run_at, held, vars, max_attempts, timeout, on_failure, traceparent,
                              own_attempts, not_after, priority_name, locks, reasons)
select j.type, j.args, j.msq, j.repeat, j.run_on, j.key, j.priority, j.run_at, j.held, j.vars::jsonb, j.max_attempts, j.timeout, j.on_failure, j.traceparent,
       j.own_attempts, j.not_after, j.priority_name, j.locks, j.reasons
  from rows from (jsonb_to_recordset($1::text::jsonb) as (
         type text, args text, msq text, repeat text, run_on text, key text, priority smallint, run_at timestamptz, held boolean, vars text,
         max_attempts integer, timeout interval, on_failure text, traceparent text, own_attempts boolean, not_after timestamptz,
         priority_name text, locks text[], reasons text[]))
       with ordinality as j (type, args, msq, repeat, run_on, key, priority, run_at, held, vars, max_attempts, timeout, on_failure, traceparent,
                             own_attempts, not_after, priority_name, locks, reasons, n)
 order by j.n
returning id
