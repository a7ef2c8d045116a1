-- When the child was launched that an attempt had to wait for; NULL: it was up already.
alter table bellhop.jobqueue add column spawned_at timestamptz;
alter table bellhop.attempt_past add column spawned_at timestamptz;
