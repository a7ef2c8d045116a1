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
