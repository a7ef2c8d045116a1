-- What a forecast is made of: who holds locks, and some $1 of those who wait, job $2 among them. Guard: none, it only reads; readers
-- only. Indexes: those of bellhop.lock_scene.
select * from bellhop.lock_scene($1, $2)
