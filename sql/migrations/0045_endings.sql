-- How often a run has ended: one that is retried ends again. Locks: ACCESS EXCLUSIVE on runs for a moment; no row is read.

-- endings names the event that a run's end is to workflows which wait for it: run=5, and its second end run=5/2.
alter table bellhop.run add column endings integer not null default 0;
