-- Replaces rule $1 for messages about runs: $2 project, $3 prefix, $4 statuses, $5 mail, $6 webhook, $7 command, $8 ms
-- since the last success, $9 whether it is active (NULL: as it was), $10 the version it must have (NULL: any). Guard:
-- operators only. Index: the primary key.
select bellhop.notice_rule_change($1, $2, $3, $4::text[], $5::text[], $6::text, $7::text[], $8::bigint * interval '1 ms', $9, $10::int)
