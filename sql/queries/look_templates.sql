-- The locks that live instances' agents add, by the newest instance. Guard: none, it only reads. Index: instance_live.
select distinct on (a.type) a.type, a.locks
  from bellhop.instance i join bellhop.agent a on a.instance = i.id
 where i.state = 'live' and a.locks <> '{}'
 order by a.type, i.id desc
