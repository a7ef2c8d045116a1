-- Whether instance $1 is still the one that deletes; $2 more is deleted; $3: that was all. Guard: it is that instance. Index: the primary key.
select bellhop.retention_goes_on($1, $2, $3)
