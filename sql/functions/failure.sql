-- masked: an error without what differs from job to job: the numbers of its first line, also hexadecimal ones. Errors
-- that mask to the same text are alike: lists of failures, and orders for a group of them, go by this text alone.
-- Grant: submitter reader operator scheduler
create or replace function bellhop.masked(error text) returns text
language sql immutable parallel safe
begin atomic
  select pg_catalog.regexp_replace(pg_catalog."left"(coalesce(substring(error from e'^[^\\n\\r]*'), ''), 300), '[0-9][0-9a-fA-F]*', '#', 'g');
end;
