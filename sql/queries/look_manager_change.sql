-- Stops or starts the sensors of instances: $1 stop or start, $2 a name ('': all). Guard: operators only. Index: the primary key.
select bellhop.manager($1::text, $2::text)
