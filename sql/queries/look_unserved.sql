-- The types of a definition's steps, $1, for which no running instance has an agent. Guard: callers that may apply it.
-- Index: none, instances are few.
select code, sentence, next from bellhop.unserved($1::text::jsonb)
