-- A row of a table that is attached. $1 its number. Guard: the primary key.
insert into public.torture_row (n, ms) values ($1, 3)
