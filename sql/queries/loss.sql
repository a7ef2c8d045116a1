-- Keeps a loss until an operator has read it. $1 instance, $2 the server before, $3 this one, $4 runs without a row, $5
-- runs that are repeated, $6 by how many ms the database went back (0: not known).
insert into bellhop.loss (instance, name, was, server, gone, again, behind)
select $1, coalesce((select i.name from bellhop.instance i where i.id = $1), ''), $2, $3, $4, $5, nullif($6::bigint, 0) * interval '1 ms'
