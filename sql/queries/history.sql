-- This instance's counts of minutes that are over: once a minute, and never while nothing happens. A repeated call
-- changes nothing. $1 instance, $2 an array of rows, JSON. Rows older than 32 days are deleted, 1000 at a time. Index:
-- the primary key, for both.
with old as (
  delete from bellhop.history h
   using (select o.minute, o.type, o.instance from bellhop.history o
           where o.minute < clock_timestamp() - interval '32 days' order by o.minute limit 1000 for update skip locked) o
   where h.minute = o.minute and h.type = o.type and h.instance = o.instance
)
insert into bellhop.history (minute, type, instance, taken, succeeded, failed, cancelled, retried, items_done, items_failed, wait, run)
select m.minute, m.type, $1, m.taken, m.succeeded, m.failed, m.cancelled, m.retried, m.items_done, m.items_failed, m.wait, m.run
  from jsonb_to_recordset($2::jsonb) as m (minute timestamptz, type text, taken integer, succeeded integer, failed integer,
         cancelled integer, retried integer, items_done bigint, items_failed bigint, wait integer[], run integer[])
on conflict (minute, type, instance) do update
   set taken = excluded.taken, succeeded = excluded.succeeded, failed = excluded.failed, cancelled = excluded.cancelled,
       retried = excluded.retried, items_done = excluded.items_done, items_failed = excluded.items_failed,
       wait = excluded.wait, run = excluded.run
