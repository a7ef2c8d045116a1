-- The identity of a database, whichever way leads to it. Managed servers may not show the identifier: then the address
-- has to do. No table is read; there may be no schema yet.
select case when has_function_privilege('pg_control_system()', 'execute') then (select c.system_identifier::text from pg_control_system() c)
            else coalesce(host(inet_server_addr()), 'local') || ':' || coalesce(inet_server_port(), 0) end
       || '.' || d.oid as identity
  from pg_database d where d.datname = current_database()
