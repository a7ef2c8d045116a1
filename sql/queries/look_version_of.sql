-- A text that changes whenever job $1 changes in something that an edit changes; NULL: the caller may not change it.
-- Guard: none, it only reads.
-- Index: the primary key.
select bellhop.edit_version($1::bigint)
