-- Which transaction brought a row in. A claim that has found nothing remembers its snapshot; the next ones need to look
-- only at what that snapshot did not show (sql/queries/claim_above.sql), and walk past no index entries of jobs that are over
-- but cannot be cleaned away, because somebody holds an old snapshot.
alter table bellhop.jobqueue add column txid xid8 not null default pg_current_xact_id();
comment on column bellhop.jobqueue.txid is 'the transaction that submitted the job; for the scheduler alone';
-- "txid > 0" is always true, and keeps the planner from taking this index for statements that do not say so: where there are
-- no statistics yet, it would be as good for them as jobqueue_ready.
create index jobqueue_floor on bellhop.jobqueue (txid, type) where state = 'ready' and txid > '0';
