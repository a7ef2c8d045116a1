-- Records why an attachment ($1) does not run ($2); $3: the fault is this instance's login. Guard: only a change is
-- written. Index: the primary key.
select bellhop.turn_failed($1, $2, $3)
