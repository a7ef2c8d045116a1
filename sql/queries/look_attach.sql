-- Attaches a table. $1 table, then the arguments of bellhop.attach. Index: the primary key.
select id, statements
  from bellhop.attach($1::text::regclass, type => $2, cmd => $3, pool => $4, workdir => $5, log_dir => $6, key => $7, dispatch => $8,
                      status_col => $9, exit_col => $10, index => $11, name => $12)
