-- The present era (bellhop.era): its floor, and its server and timeline. Index: era_now's primary key.
select e.floor, e.server from bellhop.era() e
