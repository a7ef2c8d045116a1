-- Whether rule $1 of who is told of runs was there, and is not any more. Guard: operators only. Index: the primary key.
select bellhop.notice_rule_delete($1)
