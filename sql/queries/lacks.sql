-- The pairs of $1 tables and $2 rights that this session lacks. It uses pg_class, since to_regclass asks for USAGE on
-- the schema, which may be missing. No table of ours is read; changes nothing.
select w.right || ' on bellhop.' || w.name
  from unnest($1::text[], $2::text[]) with ordinality w(name, "right", n)
  join pg_class c on c.relname = w.name
  join pg_namespace s on s.oid = c.relnamespace and s.nspname = 'bellhop'
 where not has_table_privilege(c.oid, w.right)
 order by w.n
