-- Messages that say they are a test go to each whom rule $1 names; NULL: there is no such rule. Guard: operators only. Index: the primary key.
select bellhop.notice_rule_test($1)
