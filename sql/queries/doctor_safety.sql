-- What in bellhop's schemas would let a login do more than its roles allow: one row each, with the statement that mends
-- it. It reads no table of bellhop's, only the catalogs, of a few hundred rows.
with ours as (
  select n.oid, n.nspname, n.nspowner, o.nspowner as owner
    from pg_catalog.pg_namespace n
    join pg_catalog.pg_namespace o on o.nspname = 'bellhop'
   where n.nspname in ('bellhop', 'bellhop_attached', 'fossology')
), fn as (
  select p.*, o.nspname, o.owner, p.oid::pg_catalog.regprocedure::text as called
    from pg_catalog.pg_proc p join ours o on o.oid = p.pronamespace
), rel as (
  select c.*, o.nspname, o.owner from pg_catalog.pg_class c join ours o on o.oid = c.relnamespace
), trusted as (
  -- The roles whose code may run with the rights of the schema's owner: the owner itself, and superusers.
  select r.oid from pg_catalog.pg_roles r where r.rolsuper or r.oid in (select owner from ours)
), wrong (what, mend) as (
  -- A function that looks up names where its caller says can be given other tables, types, functions and operators.
  -- PostgreSQL looks for tables and types in pg_temp first, unless the path names it. A function that is parsed when it
  -- is made looks up nothing.
  select pg_catalog.format('function %s looks up names where its caller says', called),
         pg_catalog.format('alter function %s set search_path = pg_catalog, bellhop, pg_temp', called)
    from fn
   where prosqlbody is null and nspname <> 'bellhop_attached'
     and not coalesce((select c ~ '^search_path="?pg_catalog"?(, "?bellhop"?)?, "?pg_temp"?$' from pg_catalog.unnest(proconfig) c where c like 'search_path=%'), false)
  union all
  select pg_catalog.format('function %s may be called by PUBLIC', called), pg_catalog.format('revoke all on function %s from public', called)
    from fn cross join pg_catalog.aclexplode(coalesce(proacl, pg_catalog.acldefault('f', proowner))) x where x.grantee = 0
  union all
  -- In bellhop_attached each function has the rights of the login that attached a table.
  select pg_catalog.format('function %s belongs to %s', called, proowner::pg_catalog.regrole), pg_catalog.format('alter function %s owner to %s', called, owner::pg_catalog.regrole)
    from fn where proowner <> owner and nspname <> 'bellhop_attached'
  union all
  select pg_catalog.format('%s %s.%I belongs to %s', k.kind, nspname, relname, relowner::pg_catalog.regrole),
         pg_catalog.format('alter %s %s.%I owner to %s', k.kind, nspname, relname, owner::pg_catalog.regrole)
    from rel join (values ('r', 'table'), ('p', 'table'), ('v', 'view'), ('S', 'sequence'), ('m', 'materialized view'), ('f', 'foreign table')) k (relkind, kind)
         on k.relkind = rel.relkind::text
   where relowner <> owner
     and not (rel.relkind = 'S' and exists (select from pg_catalog.pg_depend d where d.objid = rel.oid and d.deptype in ('a', 'i'))) -- it goes with its table
  union all
  select pg_catalog.format('schema %I belongs to %s', nspname, nspowner::pg_catalog.regrole),
         pg_catalog.format('alter schema %I owner to %s', nspname, owner::pg_catalog.regrole)
    from ours where nspowner <> owner and nspname <> 'fossology'
  union all
  select pg_catalog.format('%s may make objects in schema %I', case x.grantee when 0 then 'PUBLIC' else x.grantee::pg_catalog.regrole::text end, o.nspname),
         pg_catalog.format('revoke create on schema %I from %s', o.nspname, case x.grantee when 0 then 'public' else x.grantee::pg_catalog.regrole::text end)
    from ours o join pg_catalog.pg_namespace n on n.oid = o.oid cross join pg_catalog.aclexplode(n.nspacl) x
   where x.privilege_type = 'CREATE' and x.grantee <> o.owner and x.grantee <> n.nspowner
     and not (o.nspname = 'bellhop_attached' and x.grantee = coalesce(pg_catalog.to_regrole('bellhop_operator')::oid, 0) and x.grantee <> 0)
  union all
  -- A right to make triggers, or foreign keys, decides what others' statements do.
  select pg_catalog.format('%s has %s on %s.%I', case x.grantee when 0 then 'PUBLIC' else x.grantee::pg_catalog.regrole::text end, x.privilege_type, nspname, relname),
         pg_catalog.format('revoke %s on %I.%I from %s', pg_catalog.lower(x.privilege_type), nspname, relname, case x.grantee when 0 then 'public' else x.grantee::pg_catalog.regrole::text end)
    from rel cross join pg_catalog.aclexplode(relacl) x
   where x.privilege_type in ('TRIGGER', 'REFERENCES') and x.grantee <> owner and x.grantee <> relowner
  union all
  select pg_catalog.format('trigger %I on %s.%I runs code of %s', t.tgname, r.nspname, r.relname, p.proowner::pg_catalog.regrole),
         pg_catalog.format('drop trigger %I on %I.%I', t.tgname, r.nspname, r.relname)
    from pg_catalog.pg_trigger t join rel r on r.oid = t.tgrelid join pg_catalog.pg_proc p on p.oid = t.tgfoid
   where not t.tgisinternal and p.proowner not in (select oid from trusted)
  union all
  select pg_catalog.format('rule %I on %s.%I changes what statements do', w.rulename, r.nspname, r.relname), pg_catalog.format('drop rule %I on %I.%I', w.rulename, r.nspname, r.relname)
    from pg_catalog.pg_rewrite w join rel r on r.oid = w.ev_class where w.rulename <> '_RETURN'
  union all
  -- Views, defaults, checks and indexes are parsed when they are made, and call the functions that they found then.
  -- PostgreSQL's own objects are not in pg_depend.
  select distinct pg_catalog.format('%s is made with %s, which belongs to %s', pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid),
                           pg_catalog.pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid), f.owner::pg_catalog.regrole),
         pg_catalog.format('alter %s owner to %s', pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0), o.owner::pg_catalog.regrole)
    from pg_catalog.pg_depend d
    join (select 'pg_catalog.pg_proc'::pg_catalog.regclass, oid, proowner from pg_catalog.pg_proc
          union all select 'pg_catalog.pg_operator'::pg_catalog.regclass, oid, oprowner from pg_catalog.pg_operator
          union all select 'pg_catalog.pg_collation'::pg_catalog.regclass, oid, collowner from pg_catalog.pg_collation
          union all select 'pg_catalog.pg_type'::pg_catalog.regclass, oid, typowner from pg_catalog.pg_type) f (class, oid, owner)
         on d.refclassid = f.class and d.refobjid = f.oid
    join (select 'pg_catalog.pg_attrdef'::pg_catalog.regclass as class, a.oid, r.owner from pg_catalog.pg_attrdef a join rel r on r.oid = a.adrelid
          union all select 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.oid, r.owner from pg_catalog.pg_constraint c join rel r on r.oid = c.conrelid
          union all select 'pg_catalog.pg_rewrite'::pg_catalog.regclass, w.oid, r.owner from pg_catalog.pg_rewrite w join rel r on r.oid = w.ev_class
          union all select 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, p.owner from fn p where p.nspname <> 'bellhop_attached'
          union all select 'pg_catalog.pg_class'::pg_catalog.regclass, r.oid, r.owner from rel r) o
         on d.classid = o.class and d.objid = o.oid
   where f.owner not in (select oid from trusted)
  union all
  -- Any session can take an advisory lock. A session that holds the gate keeps instances from sleeping and makes each
  -- INSERT ring; one that holds the other lock keeps `bellhop migrate` waiting.
  select pg_catalog.format('session %s of %s holds %s', l.pid, s.usename, case l.objid when 1752133633 then 'the gate' else 'the lock of bellhop migrate' end),
         pg_catalog.format('select pg_terminate_backend(%s)', l.pid)
    from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity s on s.pid = l.pid
   where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.classid = 1650814060 and l.objid in (1752133632, 1752133633) and l.objsubid = 1
     and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
     and not pg_catalog.pg_has_role(s.usesysid, (select owner from ours limit 1), 'member')
     and not coalesce(pg_catalog.pg_has_role(s.usesysid, pg_catalog.to_regrole('bellhop_scheduler')::oid, 'member'), false)
)
select what, mend from wrong order by what collate "C"
