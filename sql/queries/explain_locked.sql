-- Writes why jobs with locks wait that no pass has put behind a lock: $1 ids, $2 reasons (NULL: none is known). If a
-- pass has put a job behind a lock since, the pass has written the reason. Guard: still ready, and behind no lock; a
-- row that another transaction has locked is left to the next look.
-- Index: the primary key.
update bellhop.jobqueue j
   set waiting_for = w.why
  from unnest($1::bigint[], $2::text[]) as w (id, why)
 where j.id = w.id
   and j.id = any (array(
         select k.id from bellhop.jobqueue k
          where k.id = any ($1::bigint[]) and k.state = 'ready' and not k.held and k.locks is not null and coalesce(k.behind, '') = ''
            for no key update skip locked))
