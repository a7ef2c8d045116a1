-- What is attached, and how full it is. Index: the primary key; attached_live; the queue's primary key.
select a.id, a.name, coalesce(n.nspname || '.' || c.relname, '') as "table", a.type, a.pool,
       (select count(*) from bellhop.attached x join bellhop.job j on j.id = x.job
         where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')) as running,
       array(select coalesce(k.attname, '?') from unnest(a.key_columns) with ordinality x (n, o)
               left join pg_attribute k on k.attrelid = a.rel and k.attnum = x.n and not k.attisdropped order by o) as key,
       coalesce((select d.attname from pg_attribute d where d.attrelid = a.rel and d.attnum = a.dispatch_column and not d.attisdropped), '?') as dispatch,
       a.attached_by, a.attached_at,
       -- A table may have been dropped since anybody last looked.
       case when c.oid is null then 'broken' else a.state end as state,
       case when c.oid is null then 'its table was dropped' else a.trouble end as trouble, a.state_since
  from bellhop.attachment a
  left join pg_class c on c.oid = a.rel::oid
  left join pg_namespace n on n.oid = c.relnamespace
 order by a.id
