-- What a login may do in the schema; to_regclass, since it may not be there.
select session_user::text as login,
       (select r.rolsuper from pg_roles r where r.rolname = session_user) as superuser,
       coalesce(has_schema_privilege((select n.oid from pg_namespace n where n.nspname = 'bellhop'), 'usage'), false) as enters,
       coalesce((select has_table_privilege(c.oid, 'insert, update, delete')
                   from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = 'bellhop' and c.relname = 'jobqueue'), false) as schedules
