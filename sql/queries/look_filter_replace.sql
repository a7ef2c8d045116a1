-- Replaces the filter $1, or adds it: $2 action, $3 predicates, $4 priority, $5 reason. Guard: operators only. Index: the primary key; and
-- bellhop.filter_look reads what is not over.
select bellhop.filter_replace($1::text, $2::text, $3::text::jsonb, $4::integer, $5::text)
