-- Whether any job waits for a lock: a ready job behind one, or a running job. If none does, there is nothing to hand
-- on.
-- Guard: none, it only reads. Index: jobqueue_locked, its first entry behind a lock; lock_wait is small.
select exists (select from bellhop.jobqueue j where coalesce(j.behind, '') > '' and j.state = 'ready' and not j.held and j.locks is not null)
    or exists (select from bellhop.lock_wait)
