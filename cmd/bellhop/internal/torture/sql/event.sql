-- A row that starts a run. $1 its id. Guard: the primary key.
insert into public.torture_event (id) values ($1)
