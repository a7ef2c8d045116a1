-- A type as an instance serves it, and the template of its jobs' shares ($16 NULL: none, $17 its parts). Index: the primary keys.
with told as (
  insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble, local, exclusive, attempts, locks, vars, refused, pauses)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
  on conflict (instance, type) do update set mode = excluded.mode, dialect = excluded.dialect, command = excluded.command, max = excluded.max,
    max_per_host = excluded.max_per_host, local = excluded.local, exclusive = excluded.exclusive, attempts = excluded.attempts, locks = excluded.locks,
    vars = excluded.vars, refused = excluded.refused, pauses = excluded.pauses
)
select bellhop.share_template_told($2, $16, $17)
