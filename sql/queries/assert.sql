-- This instance has taken its running jobs again. $1 instance. Index: the primary key.
insert into bellhop.asserted (instance) values ($1) on conflict do nothing
