-- Jobs that have to wait, as a pass has found: $1 ids, $2 the lock behind which each waits (empty: the next pass looks
-- again), $3 why. Guard: still lockable; rows that another transaction has locked are looked at again. Index: the
-- primary key.
update bellhop.jobqueue j
   set behind = nullif(w.behind, ''), waiting_for = w.why
  from unnest($1::bigint[], $2::text[], $3::text[]) as w (id, behind, why)
 where j.id = w.id
   and j.id = any (array(select l.id from bellhop.lockable_row l where l.id = any ($1::bigint[]) for no key update skip locked))
   and (coalesce(j.behind, '') <> w.behind or j.waiting_for is distinct from w.why)
