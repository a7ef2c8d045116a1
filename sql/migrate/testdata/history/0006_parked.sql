-- One index in place of three for the rows that no claim looks at: each partial
-- index has its predicate looked at in every claim and every outcome, although
-- their rows are in none of them.
drop index bellhop.jobqueue_due;
drop index bellhop.jobqueue_by_hand;
drop index bellhop.jobqueue_waiting;
-- What the clock will make ready: state 'scheduled', or a 'ready' row with a run_at, which came in with the triggers
-- disabled. What was changed by hand and whose state does not say so yet: 'held' and not held, 'scheduled' without run_at.
-- What is not over, and what failed: `bellhop ls`.
create index jobqueue_parked on bellhop.jobqueue (state, held, run_at, id)
  where state in ('held', 'blocked', 'scheduled', 'failed', 'quarantined') or (state = 'ready' and run_at is not null);
