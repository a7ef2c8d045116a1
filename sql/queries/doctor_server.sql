-- bellhop's requirements of a server, in one row; also in a READ ONLY transaction, by a role that sees no others. Reads
-- settings and statistics only.
select current_setting('server_version_num')::int as version,
       pg_is_in_recovery() as standby,
       current_setting('default_transaction_read_only')::bool as read_only,
       current_setting('fsync')::bool as fsync,
       current_setting('full_page_writes')::bool as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       (select s.source from pg_settings s where s.name = 'synchronous_commit') as synchronous_source,
       current_setting('autovacuum')::bool as autovacuum,
       pg_notification_queue_usage() as notify_usage,
       clock_timestamp() as clock,
       current_setting('max_connections')::int as max_connections,
       (select sum(d.numbackends)::int from pg_stat_database d) as connections,
       current_database() as database,
       session_user::text as login,
       pg_has_role(session_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select r.rolsuper from pg_roles r where r.rolname = session_user) as superuser
