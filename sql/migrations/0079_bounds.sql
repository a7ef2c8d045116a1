-- Works from: 0051
-- Locks: ROW EXCLUSIVE; all jobs are read, twice.
-- Tags of a job are a list of texts: a NULL among them stopped each statement that read them. New ones are refused
-- (../../triggers/refuse.sql).
update bellhop.jobqueue j set reasons = array(select r.reason from unnest(j.reasons) r (reason) where r.reason is not null)
 where j.reasons is not null and (array_ndims(j.reasons) > 1 or exists (select from unnest(j.reasons) r (reason) where r.reason is null));

-- A timeout of more than a hundred years is none. Sums with it, and infinity where PostgreSQL has that, failed in each
-- claim of its type.
update bellhop.jobqueue j set timeout = null where j.timeout > interval '100 years';
