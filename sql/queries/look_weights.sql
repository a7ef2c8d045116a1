-- The weights of keys of shares: at most $1. Guard: none, it only reads; readers only. Index: the primary key.
select s.type, s.name, s.weight::float8 as weight from bellhop.share s order by s.type, s.name limit $1
