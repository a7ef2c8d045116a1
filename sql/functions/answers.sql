-- answers: whether a host that serves these patterns answers to a locality key.
-- In a pattern * stands for any text and ? for one character.
-- Grant: reader scheduler
create or replace function bellhop.answers(host text, serves text[], key text) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select key = host or exists (
    select from unnest(serves) p
     where key like replace(replace(replace(replace(replace(p, e'\\', e'\\\\'), '%', e'\\%'), '_', e'\\_'), '*', '%'), '?', '_'))
$$;

-- takes: whether a host takes a job of a priority and a name of that: the name matches only_names, or the priority is one
-- of only_priorities; both NULL: it takes every job. Claims, reservations and explanations ask here; it stands inline.
-- Grant: reader scheduler
create or replace function bellhop.takes(only_priorities integer[], only_names text, priority integer, priority_name text) returns boolean
language sql immutable parallel safe
begin atomic
  select only_priorities is null and only_names is null or priority = any (only_priorities) or priority_name ~ only_names;
end;
