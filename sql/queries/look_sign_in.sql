-- A link that opens the pages once, with the rights of this login; $1 the digest of its secret. Index: the primary key of sign_in.
select bellhop.sign_in($1::bytea)
