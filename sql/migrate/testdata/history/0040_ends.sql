-- How a job that succeeded says that it had nothing to do: no_data, or skipped, which whoever needs it is then, too. NULL: it says
-- nothing. Only the scheduler writes it; no check, which would read the whole table.
alter table bellhop.jobqueue add column ended_as text;
