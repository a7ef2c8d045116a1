-- The login of a session; $1 its digest. Index: the primary key of sign_in.
select login, role from bellhop.session_of($1::bytea)
