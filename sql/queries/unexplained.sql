-- Which of the first jobs of these types ($1) and names in run_on ($2) an instance has seen and not taken, and no cause is known.
-- One index probe each. Indexes: jobqueue_ready; jobqueue_pinned; those of bellhop.explanation.
select j.id
  from unnest($1::text[], $2::text[]) as w (type, run_on)
 cross join lateral (
   select * from (
     (select q.id from bellhop.jobqueue q
       where w.run_on is null and q.type = w.type and q.state = 'ready' and not q.held and q.run_on is null and q.locks is null order by q.priority, q.id limit 1)
     union all
     (select q.id from bellhop.jobqueue q
       where w.run_on is not null and q.type = w.type and q.state = 'ready' and not q.held and q.run_on = w.run_on and q.locks is null order by q.priority, q.id limit 1)) x) j
 where exists (select 1 from bellhop.explanation(j.id) e where e.code = 'unexplained')
