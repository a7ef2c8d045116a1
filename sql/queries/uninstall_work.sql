-- The instances that were heard of within their lag, and how many jobs are there and unfinished (10,000 are counted at most). Guard: it only reads.
-- Index: none; where few are unfinished, the whole queue is read once.
select coalesce((select string_agg(i.name, ', ' order by i.id) from bellhop.instance i where i.state = 'live' and i.heartbeat_at > clock_timestamp() - i.lag), '') as live,
       (select count(*) from (select from bellhop.jobqueue limit 10000) j) as jobs,
       (select count(*) from (select from bellhop.jobqueue where state not in ('succeeded', 'failed', 'cancelled', 'quarantined') limit 10000) j) as unfinished
