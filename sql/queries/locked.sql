-- Which of these jobs another transaction has locked just now, or an edge of the graph behind them. $1 ids. It waits
-- for none of them; its own locks end with the statement. Indexes: the primary key; dependency_open.
with free as (
  select j.id from bellhop.jobqueue j where j.id = any ($1) for no key update skip locked
), edge as (
  select d.job, d.needs from bellhop.dependency d where d.needs = any ($1) and not d.met for no key update skip locked
)
select j.id from bellhop.jobqueue j where j.id = any ($1) and j.id <> all (array(select f.id from free f))
union
select d.needs from bellhop.dependency d
 where d.needs = any ($1) and not d.met and not exists (select from edge e where e.job = d.job and e.needs = d.needs)
