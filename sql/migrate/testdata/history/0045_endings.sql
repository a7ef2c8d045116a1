-- How often a run has ended: one that is retried ends again. And the slots of sensors that may not fire now.
-- Locks: ACCESS EXCLUSIVE on runs and sensors for a moment; SHARE on runs while an index is built.

-- endings names the event that a run's end is to workflows which wait for it: run=5, and its second end run=5/2.
alter table bellhop.run add column endings integer not null default 0;

-- held is the first slot that has not fired, where next_fire is when the sensor may fire again (at_most); NULL: next_fire is.
alter table bellhop.sensor add column held timestamptz;

-- Runs are kept for as long as is said of how they ended (retain_runs).
create index run_ended_as on bellhop.run (state, ended_at) where ended_at is not null;
