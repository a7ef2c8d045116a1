-- Types that an instance serves no more. $1 instance, $2 the types that it serves. Index: the primary key.
delete from bellhop.agent where instance = $1 and type <> all ($2::text[])
