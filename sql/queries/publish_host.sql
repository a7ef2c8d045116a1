insert into bellhop.host (instance, name, slots, serves, state, far, only_priorities, only_names, only_rjm, locates, resources)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (instance, name) do update set slots = excluded.slots, serves = excluded.serves, only_priorities = excluded.only_priorities, only_names = excluded.only_names, only_rjm = excluded.only_rjm, locates = excluded.locates, resources = excluded.resources
