-- Deletes the filter $1. Guard: operators only. Index: the primary key.
select bellhop.filter_delete($1::text)
