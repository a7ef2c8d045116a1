-- The basis of a forecast: the holders of locks, and some $1 of the jobs that wait, job $2 among them. Guard: none, it
-- only reads; readers only. Indexes: those of bellhop.lock_scene.
select * from bellhop.lock_scene($1, $2)
