-- The paused types; the type '' is everything. Guard: none, it only reads. Index: none, there are few.
select p.type, p.paused_at, p.paused_by from bellhop.paused p order by p.type
