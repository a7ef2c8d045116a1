-- How long jobs took, and how far off forecasts were (bellhop.sketch). Guard: none, it only reads. Index: none, it is a small table.
select s.what, s.name, s.pairs from bellhop.sketch s
