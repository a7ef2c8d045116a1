-- Ends a session; $1 its digest. Guard: none is needed: only its owner knows the digest. Index: the primary key of
-- sign_in.
delete from bellhop.sign_in where digest = $1::bytea
