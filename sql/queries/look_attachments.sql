-- The attachments, how full each is, and how far: running has a place of the pool, ahead was taken ahead of one,
-- waiting is counted up to 10,000, rate is rows a second (NULL: none has ended lately). Index: the primary key;
-- attached_live; the queue's primary key.
select a.id, a.name, coalesce(n.nspname || '.' || c.relname, '') as "table", a.type, a.pool,
       l.running, l.ahead, case when a.waiting is not null then least(a.waiting, 10000) end as waiting,
       a.waiting > 10000 as waiting_more, a.waiting_at, a.done, a.failed,
       bellhop.rows_rate(a.rate, a.rate_since, a.rate_ended)::float8 as rate,
       array(select coalesce(k.attname, '?') from unnest(a.key_columns) with ordinality x (n, o)
               left join pg_attribute k on k.attrelid = a.rel and k.attnum = x.n and not k.attisdropped order by o) as key,
       coalesce((select d.attname from pg_attribute d where d.attrelid = a.rel and d.attnum = a.dispatch_column and not d.attisdropped), '?') as dispatch,
       a.attached_by, a.attached_at,
       -- A table may have been dropped since the last turn.
       case when t.trouble is not null then 'broken' when a.detached_at is not null then 'detached' else a.state end as state,
       coalesce(t.trouble, a.trouble,
         (select format(case count(*) when 1 then '1 row is' else count(*) || ' rows are' end || ' set aside: %s (bellhop explain %s %s)',
                        (array_agg(s.reason order by s.since))[1], a.name, (array_agg(s.key order by s.since))[1])
            from bellhop.set_aside s where s.attachment = a.id having count(*) > 0),
         (select format('rows of tables that inherit from it are not run: %s', string_agg(i.inhrelid::regclass::text, ', '))
            from pg_inherits i where i.inhparent = c.oid and c.relkind = 'r' having count(*) > 0)) as trouble,
       coalesce(a.detached_at, a.state_since) as state_since,
       -- A trouble ends with what to do about it, in parentheses: it names another command than attach, if that is not enough.
       case when a.detached_at is not null then null
            when c.oid is null or coalesce(t.trouble, a.trouble) like '%Detach %' then 'detach'
            when t.trouble is null and a.state = 'broken' and a.trouble like '%bellhop doctor%' then 'doctor'
            when t.trouble is not null or a.state = 'broken' or exists (select from bellhop.set_aside s where s.attachment = a.id) then 'attach'
       end as mends,
       coalesce(quote_ident(n.nspname) || '.' || quote_ident(c.relname), '') as quoted
  from bellhop.attachment a
  left join lateral (
    select count(*) filter (where x.ahead is null) as running, count(*) filter (where x.ahead is not null) as ahead
      from bellhop.attached x cross join lateral (select q.state from bellhop.every_job q where q.id = x.job offset 0) j
     where x.attachment = a.id and x.live and j.state not in ('succeeded', 'failed', 'cancelled', 'quarantined')) l on true
  left join pg_class c on c.oid = a.rel::oid
  left join pg_namespace n on n.oid = c.relnamespace
 cross join lateral (select bellhop.turn_trouble(a.id)) t (trouble)
 order by a.id
