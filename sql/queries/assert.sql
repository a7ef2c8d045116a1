-- This instance has taken again what it runs. $1 instance. Index: the primary key.
insert into bellhop.asserted (instance) values ($1) on conflict do nothing
