-- Which jobs are meant. $1 ids, $2 keys. Indexes: the primary key; jobqueue_key.
select id, key from bellhop.job where id = any ($1::bigint[])
union
select id, key from bellhop.job where key is not null and key = any ($2::text[])
