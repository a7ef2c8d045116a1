-- One job as every reader may see it. $1 id. Index: the primary key.
select {columns}, extract(epoch from clock_timestamp() - j.created_at)::float8 as age
  from bellhop.job j
 where j.id = $1
