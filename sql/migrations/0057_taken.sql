-- Works from: 0051
-- What agents take and where keys are looked up, so that a submission that nothing can take is told at once. NULL: an
-- older binary did not tell.
alter table bellhop.agent add column vars text[];       -- names of job vars, and patterns
alter table bellhop.host add column locates boolean;    -- its instance asks a query where a key's host is
