-- What of bellhop is in this database: its schemas (fossology only where it is ours: it has our trigger's function, and
-- no table), its triggers on other tables, its roles on the server ($1); and what is not bellhop's, but uses it, and
-- goes with a schema that is dropped with CASCADE. Guard: it only reads. Index: the catalogues' own: pg_depend's two.
with recursive ours as (
  select n.oid, n.nspname from pg_namespace n
   where n.nspname in ('bellhop', 'bellhop_attached')
      or n.nspname = 'fossology' and exists (select from pg_proc p where p.pronamespace = n.oid and p.proname = 'write_jobqueue')
         and exists (select from pg_namespace b where b.nspname = 'bellhop')
         and not exists (select from pg_class c where c.relnamespace = n.oid and c.relkind not in ('v', 'S'))
), taken (class, obj, sub) as ( -- what CASCADE takes, as PostgreSQL finds it; sub: the number of a column, 0: the whole
  select 'pg_namespace'::regclass::oid, o.oid, 0 from ours o
  union
  select n.class, n.obj, n.sub
    from taken t
    cross join lateral (
      select d.classid, d.objid, d.objsubid from pg_depend d
       where d.refclassid = t.class and d.refobjid = t.obj and (t.sub = 0 or d.refobjsubid = t.sub)
      union all -- a part takes its whole: a rule its view, an expression the column that it generates, a member its extension
      select d.refclassid, d.refobjid, d.refobjsubid from pg_depend d
       where d.classid = t.class and d.objid = t.obj and (t.sub = 0 or d.objsubid = t.sub) and d.deptype in ('i', 'e')
    ) n (class, obj, sub)
), others as materialized (
  select t.class, t.obj, t.sub, i.type, i.identity
    from taken t cross join lateral pg_identify_object(t.class, t.obj, t.sub) i
   where t.class <> 'pg_namespace'::regclass and (i.schema is null or i.schema not in (select o.nspname from ours o))
), named as ( -- without the parts of what is named, and of what is ours; a partition is a part, but has rows of its own
  select x.* from others x
   where not exists (select from others w where x.sub > 0 and w.class = x.class and w.obj = x.obj and w.sub = 0)
     and (exists (select from pg_class c where x.class = 'pg_class'::regclass and x.sub = 0 and c.oid = x.obj and c.relispartition and c.relkind in ('r', 'p', 'f'))
          or not exists (select from pg_depend d join taken w on w.class = d.refclassid and w.obj = d.refobjid and (w.sub = 0 or w.sub = d.refobjsubid)
                          where d.classid = x.class and d.objid = x.obj and d.objsubid = x.sub and d.deptype <> 'n'))
), using_ours as (
  select case when k.contype = 'f' then 'foreign key' when k.contype = 'c' then 'check' when k.oid is not null then 'constraint'
              when x.class = 'pg_attrdef'::regclass then 'default' when x.class = 'pg_class'::regclass and x.sub > 0 then 'column'
              else x.type end as kind,
         case when x.class = 'pg_attrdef'::regclass then regexp_replace(x.identity, '^for ', '') else x.identity end as name,
         coalesce((g.tgname ~ '^_900_bellhop_\d+_' and p.proname = 'ring_rows' or g.tgname ~ '^bellhop_sensor_[0-9a-f]{16}$' and p.proname = 'table_sensor')
                  and p.pronamespace in (select o.oid from ours o), false) as put -- by bellhop, on a table of the user's: for an attachment, or a sensor
    from named x
    left join pg_constraint k on x.class = 'pg_constraint'::regclass and k.oid = x.obj
    left join pg_trigger g on x.class = 'pg_trigger'::regclass and g.oid = x.obj
    left join pg_proc p on p.oid = g.tgfoid
)
select 1 as rank, 'schema' as kind, o.nspname::text as name, '' as kept, false as yours from ours o
union all
select case when u.put then 2 else 3 end, u.kind, u.name, '', not u.put from using_ours u
union all
select 4, 'role', r.rolname::text, '', false from pg_roles r
 where r.rolname = any ($1::text[])
 order by 1, 2, 3
