-- Creates or changes a workflow: $1 definition, $2 the version that it has (NULL: whichever). Guard: operators only, and the version. Index: the primary key.
select bellhop.workflow_apply($1::text::jsonb, $2::integer)
