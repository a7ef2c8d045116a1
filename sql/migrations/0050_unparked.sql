-- A job that came held while triggers were disabled stands there as ready: a round gives it the state that follows (by_hand.sql). It
-- finds such rows by this index, which is empty otherwise.
create index if not exists jobqueue_unparked on bellhop.jobqueue (id) where state = 'ready' and held;
