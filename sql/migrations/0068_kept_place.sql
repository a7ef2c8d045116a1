-- Works from: 0051
-- A place that is kept for another change.
select 1;
