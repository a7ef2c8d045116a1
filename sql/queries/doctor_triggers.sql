-- The triggers on the schema's tables, and whether they fire.
select 'bellhop.' || c.relname as on_table, g.tgname as name, g.tgenabled in ('O', 'A') as fires
  from pg_trigger g
  join pg_class c on c.oid = g.tgrelid
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'bellhop' and not g.tgisinternal
