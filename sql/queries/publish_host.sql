insert into bellhop.host (instance, name, slots, serves) values ($1, $2, $3, $4)
on conflict (instance, name) do update set slots = excluded.slots, serves = excluded.serves
