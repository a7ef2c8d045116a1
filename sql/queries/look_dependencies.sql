-- The dependencies among jobs. $1 ids. Index: dependency's primary key.
select d.job, d.needs, d.wanted, d.met
  from bellhop.dependency d
 where d.job = any ($1::bigint[]) and d.needs = any ($1::bigint[])
 order by d.job, d.needs
