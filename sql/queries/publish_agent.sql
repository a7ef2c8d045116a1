-- A type as an instance serves it, and the template of its jobs' shares ($18 NULL: none, $19 its parts). Index: the primary keys.
with told as (
  insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble, local, exclusive, attempts, locks, vars, refused, pauses, resources, slots)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
  on conflict (instance, type) do update set mode = excluded.mode, dialect = excluded.dialect, command = excluded.command, max = excluded.max,
    max_per_host = excluded.max_per_host, local = excluded.local, exclusive = excluded.exclusive, attempts = excluded.attempts, locks = excluded.locks,
    vars = excluded.vars, refused = excluded.refused, pauses = excluded.pauses, resources = excluded.resources, slots = excluded.slots
)
select bellhop.share_template_told($2, $18, $19)
