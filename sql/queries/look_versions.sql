-- The versions of a workflow: $1 its name. Index: workflow_past's primary key.
select p.version, p.what, p.active, p.changed_at, p.changed_by from bellhop.workflow_past p where p.workflow = $1::text order by p.version
