-- Adds a rule for messages about runs: $1 project, $2 prefix, $3 statuses, $4 mail, $5 webhook, $6 command, $7 ms since
-- the last success, $8 whether it is active. Guard: operators only.
select bellhop.notice_rule_add($1, $2, $3::text[], $4::text[], $5::text, $6::text[], $7::bigint * interval '1 ms', $8)
