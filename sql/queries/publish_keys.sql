-- The ids of the keys with which an instance opens sealed jobs. $1 instance, $2 the ids. Index: the primary key.
update bellhop.instance set keys = $2 where id = $1 and keys <> $2
