-- Whether instance $1 is to delete what was over long ago: the last pass began $2 ms ago, and no instance is at it.
-- Guard: one instance. Index: the primary key.
select bellhop.retention_begin($1, $2 * interval '1 ms')
