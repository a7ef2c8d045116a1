-- Works from: 0051
-- Locks: ROW EXCLUSIVE; all jobs are read once.
-- Tags of a job are a list of texts: a NULL among them stopped each statement that read them. A timeout of more than a
-- hundred years is none: sums with it, and infinity where PostgreSQL has that, failed in each claim of its type. New
-- jobs with either are refused (../../triggers/refuse.sql).
update bellhop.jobqueue j
   set reasons = case when j.reasons is not null then array(select r.reason from unnest(j.reasons) r (reason) where r.reason is not null) end,
       timeout = case when j.timeout <= interval '100 years' then j.timeout end
 where j.timeout > interval '100 years'
    or j.reasons is not null and (array_ndims(j.reasons) > 1 or exists (select from unnest(j.reasons) r (reason) where r.reason is null));
