-- Which types of a definition's steps, $1, no running instance has an agent of. Guard: who may apply it. Index: none, instances are few.
select code, sentence, next from bellhop.unserved($1::text::jsonb)
