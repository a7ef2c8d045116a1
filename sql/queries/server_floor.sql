-- The fence below which claims were made before the database was on this server. Index: era_now's and server_seen's
-- primary keys.
select e.server_floor from bellhop.era() e
