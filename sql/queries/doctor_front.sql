-- FOSSology's names: whether they are in place; which logins insert rows but may not read the job's owner; how many
-- instances live. Index: instance_live; catalogues.
select to_regnamespace('fossology') is not null as named,
       array(select r.rolname::text
               from pg_catalog.pg_roles r
               join pg_catalog.pg_roles o on o.rolname = 'bellhop_operator' and pg_has_role(r.oid, o.oid, 'usage')
               join pg_catalog.pg_namespace n on n.nspname = 'public'
               join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = 'job'
              where r.rolcanlogin and not r.rolsuper
                and not (has_schema_privilege(r.oid, n.oid, 'usage') and has_table_privilege(r.oid, c.oid, 'select'))
              order by 1) as blind,
       (select count(*) from bellhop.instance i where i.state = 'live') as instances
