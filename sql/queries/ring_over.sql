-- Jobs with waiting clients are over: rings with the commit of the statement before. $1 their ids, with commas between
-- them, each list shorter than a notification may be.
select pg_notify('bellhop_over', ids) from unnest($1::text[]) as o (ids)
