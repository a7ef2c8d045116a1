-- Each receiver of rule $1 gets a message that says it is a test; NULL: there is no such rule. Guard: operators only.
-- Index: the primary key.
select bellhop.notice_rule_test($1)
