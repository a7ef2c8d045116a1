-- Works from: 0051
-- Locks: ACCESS EXCLUSIVE on bellhop.jobqueue, while an index of waiting jobs with locks is made.
-- Keys take turns in passes of locks, too (../functions/lock_turns.sql).
create index jobqueue_locked_share on bellhop.jobqueue (coalesce(behind, ''), type, priority, coalesce(share, ''), id)
  where locks is not null and state = 'ready' and not held;
-- Where the next look at more keys than one look can see goes on.
alter table bellhop.share_clock add column turned text not null default '';
