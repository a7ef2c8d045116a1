-- How many slots live instances have, in all (a row of no type), and how many jobs of a type may run at once, where that is
-- bounded, and how many slots each takes. Guard: none, it only reads. Index: instance_live.
select '' as type, coalesce(sum(h.slots), 0)::integer as most, 1 as each
  from bellhop.instance i join bellhop.host h on h.instance = i.id where i.state = 'live'
union all
select x.type, least(max(nullif(x.max, 0)), case when min(x.per_host) > 0 then sum(x.per_host) end)::integer, max(x.slots)
  from (select a.type, a.max, a.slots, a.max_per_host * (select count(*) from bellhop.host h where h.instance = i.id) as per_host
          from bellhop.instance i join bellhop.agent a on a.instance = i.id where i.state = 'live') x
 group by x.type
having max(x.max) > 0 or min(x.per_host) > 0 or max(x.slots) > 1
