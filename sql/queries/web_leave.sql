-- Ends a session; $1 its digest. Guard: none is needed, who knows it is in it. Index: the primary key of sign_in.
delete from bellhop.sign_in where digest = $1::bytea
