-- The first $1 locks that are held or waited for. Guard: none, it only reads; readers only. Indexes: those of bellhop.lock_heads.
select h.level, h.name, coalesce(h.mode, '') as mode, h.holders, coalesce(h.job, 0) as job, h.held, h.waiting, h.oldest from bellhop.lock_heads($1) h
