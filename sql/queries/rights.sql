-- The rights that PUBLIC and bellhop's roles have on the schemas, each as the statement that gives it, and which
-- of them is a member of another. Read from the catalogs, which any login may. sql/rights.sql is the result for a
-- fresh database.
with granted as (
  select x.privilege_type as privilege, 'schema ' || n.nspname as object, x.grantee, n.nspowner as owner
    from pg_namespace n cross join aclexplode(n.nspacl) x where n.nspname in ('bellhop', 'bellhop_attached')
  union all
  select x.privilege_type, case c.relkind when 'S' then 'sequence ' else '' end || 'bellhop.' || c.relname, x.grantee, c.relowner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join aclexplode(c.relacl) x where n.nspname = 'bellhop'
  union all
  select format('%s (%s)', x.privilege_type, string_agg(a.attname, ', ' order by a.attnum)), 'bellhop.' || c.relname, x.grantee, c.relowner
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid cross join aclexplode(a.attacl) x
   where n.nspname = 'bellhop'
   group by x.privilege_type, c.relname, x.grantee, c.relowner
  union all
  -- PUBLIC may call a function that has no grants.
  select x.privilege_type, 'function bellhop.' || p.proname, x.grantee, p.proowner
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
   where n.nspname = 'bellhop'
), lines as (
  select g.object, coalesce(r.rolname, 'public') as grantee,
         format('grant %s on %s to %s;', string_agg(g.privilege, ', ' order by g.privilege collate "C"), g.object, coalesce(r.rolname, 'public')) as line
    from granted g left join pg_roles r on r.oid = g.grantee
   where g.grantee <> g.owner
     and (g.grantee = 0 or r.rolname in ('bellhop_submitter', 'bellhop_reader', 'bellhop_operator', 'bellhop_scheduler', 'bellhop_attach', 'bellhop_worker'))
   group by g.object, r.rolname
  union all
  select '', m.rolname, format('grant %s to %s;', r.rolname, m.rolname)
    from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
   where r.rolname in ('bellhop_submitter', 'bellhop_reader', 'bellhop_operator', 'bellhop_scheduler', 'bellhop_attach', 'bellhop_worker')
     and m.rolname in ('bellhop_submitter', 'bellhop_reader', 'bellhop_operator', 'bellhop_scheduler', 'bellhop_attach', 'bellhop_worker')
)
select line from lines order by object collate "C", grantee collate "C", line collate "C"
