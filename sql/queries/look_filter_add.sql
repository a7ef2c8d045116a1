-- Adds a filter: $1 action, $2 predicates, $3 priority, $4 reason. Guard: operators only. Index: bellhop.filter_look reads what is not over.
select bellhop.filter_add($1::text, $2::text::jsonb, $3::integer, $4::text)
