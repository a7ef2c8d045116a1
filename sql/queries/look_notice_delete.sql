-- Deletes rule $1 for messages about runs; returns whether there was one. Guard: operators only. Index: the primary
-- key.
select bellhop.notice_rule_delete($1)
