-- Publishes where the user's query sees names. $1 instance, $2 names, $3 hosts of each (blank between), $4 errors.
-- Names that were not asked for within the last minute are deleted. Index: the primary key.
with old as (
  delete from bellhop.located l where l.at < clock_timestamp() - interval '1 min' or l.instance <> $1 and not exists (select 1 from bellhop.instance i where i.id = l.instance and i.state = 'live')
)
insert into bellhop.located (instance, key, hosts, error)
select $1, n.key, case when n.hosts = '' then '{}' else string_to_array(n.hosts, ' ') end, nullif(n.error, '')
  from unnest($2::text[], $3::text[], $4::text[]) as n (key, hosts, error)
on conflict (instance, key) do update set hosts = excluded.hosts, error = excluded.error, at = clock_timestamp()
