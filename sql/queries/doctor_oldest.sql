-- The transactions that keep vacuum and the notification queue back: those that are open for longer than $1 seconds,
-- prepared ones too, the oldest first. Only a login with pg_read_all_stats sees those of other logins.
select a.pid, coalesce(a.usename, '') as login, a.application_name as name, coalesce(a.state, '') as state,
       extract(epoch from clock_timestamp() - a.xact_start)::float8 as age, ''::text as prepared
  from pg_stat_activity a
 where a.xact_start < clock_timestamp() - make_interval(secs => $1) and a.datname is not null and a.pid <> pg_backend_pid()
   and a.backend_type in ('client backend', 'background worker', 'parallel worker')
union all
select 0, p.owner::text, '', 'prepared', extract(epoch from clock_timestamp() - p.prepared)::float8, p.gid
  from pg_prepared_xacts p
 where p.prepared < clock_timestamp() - make_interval(secs => $1)
 order by age desc
 limit 5
