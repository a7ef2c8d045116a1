-- The kinds of messages that live instances can send, and how many instances live. Index: none, instances are few.
select coalesce((select array_agg(distinct t) from bellhop.instance i, unnest(i.tells) t where i.state = 'live'), '{}'),
       (select count(*) from bellhop.instance i where i.state = 'live')
