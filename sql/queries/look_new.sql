-- Whether job $1 was submitted by this transaction, and not before. Guard: none, it only reads. Index: the primary key.
select j.created_at >= transaction_timestamp() from bellhop.job j where j.id = $1::bigint
