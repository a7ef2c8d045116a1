-- The era that is now (bellhop.era): its floor, and on which server and timeline. Index: era_now's primary key.
select e.floor, e.server from bellhop.era() e
