-- The values for rows of a COPY that an INSERT would find by itself: the database's clock, and the session's trace
-- context.
select clock_timestamp(), nullif(current_setting('bellhop.traceparent', true), '')
