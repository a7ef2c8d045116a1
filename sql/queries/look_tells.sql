-- What live instances can send, and how many of them there are. Index: none, instances are few.
select coalesce((select array_agg(distinct t) from bellhop.instance i, unnest(i.tells) t where i.state = 'live'), '{}'),
       (select count(*) from bellhop.instance i where i.state = 'live')
