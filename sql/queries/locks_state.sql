-- Running jobs that wait for a lock are assigned, and say for which; those that got theirs run. $1 instance, $2 ids, $3
-- fences, $4 why each waits (empty: it does not). Guard: still ours under this fence, and begun. A row that another
-- transaction has locked stays as it is: grants do not depend on it. Index: the primary key.
update bellhop.jobqueue j
   set state = case when a.why = '' then 'running' else 'assigned' end, waiting_for = nullif(a.why, '')
  from unnest($2::bigint[], $3::bigint[], $4::text[]) as a (id, fence, why)
 where j.id = a.id
   and j.id = any (array(select q.id from bellhop.jobqueue q
                          where q.id = any ($2) and q.instance = $1 and q.state || '' in ('assigned', 'running') and q.started_at is not null
                            for no key update skip locked))
   and j.fence = a.fence
   and (j.state, coalesce(j.waiting_for, '')) is distinct from (case when a.why = '' then 'running' else 'assigned' end, a.why)
