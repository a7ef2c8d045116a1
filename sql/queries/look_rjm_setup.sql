-- $1 id, $2 config, $3 priority, $4 blocks, $5 files, $6 the job inside which this is done, or NULL, $7 locks, or NULL.
select bellhop.rjm_setup($1, $2, $3, $4::text[], $5::text[], $6, $7::text[])
