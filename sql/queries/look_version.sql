-- One version of a workflow: $1 its name, $2 the version. Guard: operators only. Index: workflow_past's primary key.
select p.workflow as name, p.version, p.definition || jsonb_build_object('workflow', p.workflow, 'active', p.active) as definition
  from bellhop.workflow_past p where p.workflow = $1::text and p.version = $2::integer
