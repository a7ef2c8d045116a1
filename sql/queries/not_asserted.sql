-- The live instances that have not asserted their running jobs since the database last crashed. Index: instance_live;
-- the primary key.
select i.name
  from bellhop.instance i
 where i.state = 'live' and not exists (select 1 from bellhop.asserted a where a.instance = i.id)
 order by i.id
