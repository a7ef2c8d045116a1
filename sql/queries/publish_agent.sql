insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble) values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (instance, type) do update set trouble = excluded.trouble
