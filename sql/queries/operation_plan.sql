-- Plans an order for many jobs: $1 verb, $2 filter, $3 priority. Guard: operators only. Index: the primary key is walked once.
select bellhop.operation_plan($1::text, $2::text::jsonb, $3::integer)
