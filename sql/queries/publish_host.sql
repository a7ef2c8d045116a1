insert into bellhop.host (instance, name, slots, serves, state) values ($1, $2, $3, $4, $5)
on conflict (instance, name) do update set slots = excluded.slots, serves = excluded.serves
