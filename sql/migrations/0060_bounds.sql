-- The keys of a definition bring their bounds, and a filter's bounds are asked before it is parsed. Functions with
-- these names and other shapes go first; functions/*.sql makes them again.
drop function if exists bellhop.definition_keys();
drop function if exists bellhop.filter_check(text, jsonb);
