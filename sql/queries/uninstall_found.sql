-- What of bellhop is in this database: its schemas (fossology only where it is ours: it has our trigger's function, and
-- no table), its roles on the server ($1), and the triggers, views and foreign keys of other schemas that use its objects and go with it. Guard: it only reads. Index: the catalogues' own.
with ours as (
  select n.oid, n.nspname from pg_namespace n
   where n.nspname in ('bellhop', 'bellhop_attached')
      or n.nspname = 'fossology' and exists (select from pg_proc p where p.pronamespace = n.oid and p.proname = 'write_jobqueue')
         and exists (select from pg_namespace b where b.nspname = 'bellhop')
         and not exists (select from pg_class c where c.relnamespace = n.oid and c.relkind not in ('v', 'S'))
)
select 1 as rank, 'schema' as kind, o.nspname::text as name, '' as kept from ours o
union all
select 2, 'trigger', format('%s on %s', g.tgname, g.tgrelid::regclass), ''
  from pg_trigger g join pg_proc p on p.oid = g.tgfoid join pg_class c on c.oid = g.tgrelid
 where not g.tgisinternal and p.pronamespace in (select o.oid from ours o) and c.relnamespace not in (select o.oid from ours o)
union all
select distinct 3, 'view', w.ev_class::regclass::text, ''
  from pg_depend d join pg_rewrite w on w.oid = d.objid join pg_class v on v.oid = w.ev_class join pg_class c on c.oid = d.refobjid
 where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
   and c.relnamespace in (select o.oid from ours o) and v.relnamespace not in (select o.oid from ours o)
union all
select 4, 'foreign key', format('%s of %s', k.conname, k.conrelid::regclass), ''
  from pg_constraint k join pg_class c on c.oid = k.confrelid join pg_class f on f.oid = k.conrelid
 where k.contype = 'f' and c.relnamespace in (select o.oid from ours o) and f.relnamespace not in (select o.oid from ours o)
union all
select 5, 'role', r.rolname::text, '' from pg_roles r
 where r.rolname = any ($1::text[])
 order by 1, 3
