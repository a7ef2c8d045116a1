-- Which of the first jobs of these types ($1) and names in run_on ($2) an instance has seen and not taken, for no known
-- cause; with the identity of this version of the row, and its values without the payload.
-- Guard: none, it only reads. One index probe each. Indexes: jobqueue_ready; jobqueue_pinned; those of bellhop.explanation.
select j.id, j.type, j.xmin || ' ' || j.ctid as row,
       (select jsonb_strip_nulls(jsonb_build_object('state', q.state, 'priority', q.priority, 'run_on', q.run_on, 'instance', q.instance, 'attempt', q.attempt,
                 'fence', q.fence, 'lost', q.lost, 'deaths', q.deaths, 'msq', q.msq is not null, 'waiting_for', q.waiting_for, 'run_at', q.run_at,
                 'age', clock_timestamp() - q.created_at, 'txid', q.txid::text,
                 'instances', (select jsonb_agg(jsonb_build_object('id', i.id, 'heard', clock_timestamp() - i.heartbeat_at, 'looked', clock_timestamp() - i.looked_at,
                                 'standstill', i.standstill)) from bellhop.instance i where i.state = 'live'),
                 'children', (select jsonb_agg(c.host || '/' || c.name || ' ' || c.state order by c.host, c.name) from bellhop.child c join bellhop.instance i on i.id = c.instance
                               where i.state = 'live')))
          from bellhop.jobqueue q where q.id = j.id)::text as told
  from unnest($1::text[], $2::text[]) as w (type, run_on)
 cross join lateral (
   select * from (
     (select q.id, q.type, q.xmin::text, q.ctid::text from bellhop.jobqueue q
       where w.run_on is null and q.type = w.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null and q.share is null order by q.priority, q.id limit 1)
     union all
     (select q.id, q.type, q.xmin::text, q.ctid::text from bellhop.jobqueue q
       where w.run_on is not null and q.type = w.type and q.state = 'ready' and not q.held and q.run_on = w.run_on and q.locks is null and q.share is null order by q.priority, q.id limit 1)) x) j
 where exists (select 1 from bellhop.explanation(j.id) e where e.code = 'unexplained')
