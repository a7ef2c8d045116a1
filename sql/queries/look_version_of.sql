-- What tells whether anything of job $1 has changed that an edit changes; NULL: whoever asks may change nothing of it. Guard: none, it only reads.
-- Index: the primary key.
select bellhop.edit_version($1::bigint)
