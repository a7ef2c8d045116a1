-- The keys of a type ($1; NULL: of all): weight, and what waits, runs and has started. Guard: readers only. Indexes: those
-- of bellhop.shares.
select s.type, s.name, s.weight, s.waiting, s.running, s.started from bellhop.shares($1::text) s
