-- The first of these schemas ($1) that the login cannot drop, its owner, and the login. No row: it can drop all.
-- Guard: it only reads. Index: the catalogue's own, pg_namespace_nspname_index.
select n.nspname, n.nspowner::regrole::text, current_user
  from pg_namespace n
 where n.nspname = any ($1) and not pg_has_role(n.nspowner, 'usage')
 order by n.nspname limit 1
