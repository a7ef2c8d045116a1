-- Makes a session ($2) of a link ($1); both are digests. Guard: the link is there, and goes with it. Index: the primary key of sign_in.
select login, role from bellhop.signed_in($1::bytea, $2::bytea)
